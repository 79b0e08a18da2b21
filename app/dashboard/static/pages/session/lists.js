// A session in words: its stages with their outputs, who takes part, what was said, all work, what happened.

import { h } from '../../dom.js';
import { eventLine } from '../../events.js';
import { count, duration, money, words } from '../../format.js';
import { agentLink, badge, button, empty, foldedProse, foldedRich, meta, status, time } from '../../parts.js';
import { spanTone } from './spans.js';

const ROWS = 50;
const STATUSES = { WORKING: 'IN_PROGRESS' };

export function stages(session, page, { mayDecide, decide }) {
  const { nodes, totalCount } = session.stages;
  if (!nodes.length) return empty({ icon: 'session', title: 'No stage yet', text: 'They appear as they are ordered.' });
  return [
    totalCount > nodes.length && h('p', { class: 'quiet' }, `The last ${nodes.length} of ${count(totalCount)} stages.`),
    h('ol', { class: 'stages' }, nodes.map((stage) => h('li', { key: stage.id, class: ['stage-row', stage.superseded && 'is-superseded'] }, stageRow(stage, page), mayDecide(stage) && button('Decide', () => decide(stage), { kind: 'plain' })))),
  ];
}

function stageRow(stage, page) {
  return h('div', null,
    h('p', { class: 'stage-head' },
      h('span', { class: 'stage-number' }, stage.position),
      stage.task ? h('button', { type: 'button', class: 'link-button', onclick: () => page.setQuery({ span: stage.task.id }) }, stage.name) : h('strong', null, stage.name),
      status(STATUSES[stage.status] ?? stage.status), stage.superseded && badge('tried again')),
    meta(agentLink(stage.agent), words(stage.kind), `round ${stage.round}`, stage.attempt > 1 && `attempt ${stage.attempt}`, stage.endedAt ? duration(stage.durationSeconds) : time(stage.createdAt), stage.endedAt && money(stage.cost)),
    stage.error && h('p', { class: 'stage-error' }, stage.error),
    stage.output && h('details', { class: 'stage-output' }, h('summary', null, 'Output'), foldedRich(stage.output)));
}

export function participants(session) {
  return h('ul', { class: 'seats' }, session.participants.map((seat) => h('li', { key: seat.position },
    h('p', { class: 'stage-head' }, agentLink(seat.agent), badge(words(seat.role), seat.role === 'LEAD' ? 'accent' : 'calm'), status(STATUSES[seat.status] ?? seat.status)),
    seat.stage && h('p', { class: 'quiet' }, `Stage: ${seat.stage}`),
    seat.instructions && foldedProse(seat.instructions))));
}

export function messages(session) {
  const { nodes, totalCount } = session.messages;
  if (!nodes.length) return empty({ icon: 'inbox', title: 'Nothing was said', text: 'Messages that agents send to the session’s channel appear here.' });
  return [
    totalCount > nodes.length && h('p', { class: 'quiet' }, `The last ${nodes.length} of ${count(totalCount)} messages.`),
    h('ol', { class: 'session-said' }, nodes.map((one) => h('li', { key: one.id },
      h('p', { class: 'row-meta' }, agentLink(one.sender), one.recipient && h('span', null, 'to ', agentLink(one.recipient)), badge(words(one.type)), time(one.sentAt)),
      one.subject && h('p', null, h('strong', null, one.subject)), foldedProse(one.body)))),
  ];
}

/** Every span as a row, latest first: what the lanes show, for those who read. */
export function work(spans, nameOf, page) {
  const { all } = spans.laidOut();
  const shown = page.state.rows ?? ROWS;
  return [
    h('ul', { class: 'rows' }, all.slice(-shown).reverse().map((span) => h('li', { key: span.taskId, class: 'row work-row' },
      h('button', { type: 'button', class: 'link-button', onclick: () => page.setQuery({ span: span.taskId }) }, span.name),
      meta(status(span.status, { tone: spanTone(span) }), nameOf(span.agentId), span.askerId && span.askerId !== span.agentId && `${span.delegated ? 'delegated by' : 'asked by'} ${nameOf(span.askerId)}`, span.end ? duration((span.end - span.begin) / 1000) : null, money(span.cost))))),
    h('div', { class: 'more' }, h('span', { class: 'quiet' }, `${count(Math.min(shown, all.length))} of ${count(all.length)} shown`), all.length > shown && button('Show more', () => page.set({ rows: shown + ROWS }))),
  ];
}

export const activity = (feed) => (feed.length ? h('ol', { class: 'feed' }, feed.map(eventLine)) : h('p', { class: 'quiet' }, 'Nothing happened since this page was opened.'));
