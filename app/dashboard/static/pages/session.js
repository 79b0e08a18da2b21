// A session while it runs, and behind: lanes over time, rounds and votes, stages, and what it costs against its caps.

import { h } from '../dom.js';
import { count, cut, duration, money, percent, words } from '../format.js';
import { keepEvent } from '../live.js';
import { agentLink, badge, button, card, chosenTab, copyId, empty, facts, foldedProse, foldedRich, gauge, linkButton, sessionStatus, tabs, time } from '../parts.js';
import { to } from '../router.js';
import { actions, decide, dialogs, undecided } from './session/acts.js';
import { closeDetail, detail, hearDetail } from './session/detail.js';
import { lanes } from './session/lanes.js';
import { activity, messages, participants, stages, work } from './session/lists.js';
import { QUERY, REFRESH, STREAM } from './session/queries.js';
import { hasRounds, rounds } from './session/rounds.js';
import { Spans } from './session/spans.js';

const FEED = 200;
const TITLE = 40;  // a longer goal stands below the title, too, which is cut to the screen's width
const QUIET = new Set(['TASK_PROGRESSED', 'TASK_TOOL_CALLED']);

export default {
  name: 'session',
  path: '/sessions/:id',
  title: (data) => (data?.collaborationSession ? cut(data.collaborationSession.goal, 2 * TITLE) : 'Session'),
  under: '/sessions',
  needs: 'READ_TEAM',

  data: (page) => ({
    query: QUERY,
    refresh: page.can('READ_EVENTS') ? REFRESH : null,  // without the stream nothing else keeps the spans current
    variables: { id: page.params.id, mayRead: page.can('READ_EVENTS') },
    stream: page.can('READ_EVENTS') ? STREAM : null,
    streamVariables: { id: page.params.id },
    fold: (data, event) => fold(data, event, page),
    reloads: (event) => !QUIET.has(event.kind),
    merge,
  }),

  view: (data, page) => {
    const { collaborationSession: session } = data;
    if (!session) return empty({ icon: 'session', title: 'There is no such session', text: 'It may belong to another team.', action: linkButton('To the sessions', to('/sessions')) });
    const shown = { session, spans: spansOf(data), agents: data.agents.nodes, nameOf: namesOf(data), isRunning: !session.endedAt };
    return [
      head(session, page),
      failures(session, page),
      lanes(shown, page),
      session.result !== null && card({ title: 'Result', class: 'result' }, foldedRich(session.result)),
      card({ class: 'session-views' }, views(shown, feedOf(data), page)),
      detail(page),
      dialogs(shown, page),
    ];
  },

  leave: closeDetail,
};

function fold(data, event, page) {
  if (!data.collaborationSession) return data;
  const changed = spansOf(data).hear(event, data.collaborationSession.leadId);
  hearDetail(page, event);
  if (QUIET.has(event.kind)) return changed ? { ...data } : data;
  return { ...data, feed: keepEvent(feedOf(data), event, FEED) };
}

/** What was read lightly keeps the spans, which the events kept current. */
function merge(old, fresh) {
  if (!fresh.collaborationSession || fresh.collaborationSession.timeline) return fresh;
  return { ...fresh, spans: spansOf(old), feed: feedOf(old) };
}

function spansOf(data) {
  data.spans ??= new Spans(data.collaborationSession.timeline);
  return data.spans;
}

const feedOf = (data) => data.feed ?? [...(data.collaborationSession.events?.nodes ?? [])].reverse();

function namesOf(data) {
  const known = new Map([...data.agents.nodes, ...data.collaborationSession.participants.map((seat) => seat.agent)].map((agent) => [agent.id, agent.name]));
  return (id) => known.get(id) ?? 'another agent';
}

function head(session, page) {
  return card({ class: 'session-head' },
    h('div', { class: 'session-line' },
      h('p', { class: 'row-meta' }, sessionStatus(session.status), badge(words(session.template ?? session.pattern), 'accent'), copyId(session.id), h('span', null, 'started ', time(session.createdAt), ` by ${session.onBehalfOf}`)),
      h('div', { class: 'card-actions' }, actions(session, page))),
    session.goal.length > TITLE && h('div', { class: 'session-goal' }, foldedProse(session.goal)),
    session.context && h('details', { class: 'stage-output' }, h('summary', null, 'Context'), foldedProse(session.context)),
    session.error && h('p', { class: 'notice tone-bad' }, session.error),
    h('div', { class: 'caps' }, timeCap(session), costCap(session)),
    facts([
      ['Stages done', count(session.stagesCompleted)],
      ['Now', session.currentStage],
      (session.pattern === 'CONSENSUS' || session.pattern === 'PEER_REVIEW' || session.template) && ['Round', `${session.round} of at most ${session.maxRounds}`],
      session.agreement !== null && ['Agreement', `${percent(session.agreement)}, ${session.converged ? 'enough' : `below ${percent(session.threshold)}`}`],
      ['Tokens', count(session.tokensUsed)],
      ['When a stage fails', session.onFailure === 'ASK' ? 'somebody decides' : 'it ends'],
      session.conversation && ['Conversation', h('a', { href: to('/conversations/:id', session.conversation) }, cut(session.conversation.title || 'open it', 60))],
    ].filter(Boolean)));
}

function timeCap(session) {
  const took = (new Date(session.endedAt ?? Date.now()) - new Date(session.createdAt)) / 1000;
  return cap('Time', duration(Math.max(0, took)), duration(session.maxDurationSeconds), took / session.maxDurationSeconds);
}

const costCap = (session) => cap('Cost', money(session.cost), money(session.maxCostUsd), Number(session.cost) / Number(session.maxCostUsd));

function cap(name, used, most, share) {
  return h('div', { class: 'budget' },
    h('p', null, h('span', null, name), h('span', null, h('strong', null, used), ` of ${most}`)),
    gauge({ spent: Math.min(1, share), reserved: 0, label: `${name}: ${used} of ${most}` }));
}

function failures(session, page) {
  const waiting = session.onFailure === 'ASK' ? undecided(session) : [];
  if (!waiting.length) return null;
  return h('section', { class: 'card failures', 'aria-label': 'Failed stages' }, waiting.map((stage) => h('div', { key: stage.id, class: 'failure' },
    h('div', null, h('p', null, h('strong', null, `“${stage.name}” failed. `), 'The session waits for a decision.'), h('p', { class: 'row-meta' }, agentLink(stage.agent), stage.error)),
    page.can('CONTROL_COLLABORATIONS') && button('Decide', () => decide(stage, page), { kind: 'primary' }))));
}

function views(shown, feed, page) {
  const { session, spans, nameOf } = shown;
  const waiting = new Set(undecided(session).map((stage) => stage.id));
  const choices = [
    hasRounds(session) && ['rounds', 'Rounds'],
    ['stages', 'Stages', count(session.stages.totalCount)],
    ['participants', 'Participants', session.participants.length],
    ['messages', 'Messages', count(session.messages.totalCount)],
    ['work', 'All work', count(spans.byTask.size)],
    page.can('READ_EVENTS') && ['activity', 'Activity'],
  ].filter(Boolean);
  const chosen = chosenTab(page, choices);
  return [tabs(page, choices), h('div', { key: chosen }, {
    rounds: () => rounds(session),
    stages: () => stages(session, page, { mayDecide: (stage) => waiting.has(stage.id) && page.can('CONTROL_COLLABORATIONS'), decide: (stage) => decide(stage, page) }),
    participants: () => participants(session),
    messages: () => messages(session),
    work: () => work(spans, nameOf, page),
    activity: () => activity(feed),
  }[chosen]())];
}
