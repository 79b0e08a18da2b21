// The task at a glance: where it stands, who has it, how long and how much.

import { h } from '../../dom.js';
import { cut, duration, money, plural, words } from '../../format.js';
import { agentLink, badge, card, copyId, facts, status, time } from '../../parts.js';
import { to } from '../../router.js';

const PRIORITY_TONES = { URGENT: 'bad', HIGH: 'wait' };

export function head(task, actions) {
  return card({ class: 'subject' },
    h('div', { class: 'subject-line' }, status(task.status), h('span', null, words(task.type)),
      task.priority !== 'NORMAL' && badge(words(task.priority), PRIORITY_TONES[task.priority]),
      task.purpose !== 'DELEGATION' && badge(words(task.purpose)), copyId(task.id),
      actions.length > 0 && h('div', { class: 'subject-actions' }, actions)),
    now(task),
    facts([
      ['Assignee', agentLink(task.assignee)],
      ['Delegated by', task.creator ? agentLink(task.creator) : h('span', { class: 'quiet' }, 'its own work')],
      ['Asked for by', task.onBehalfOf],
      task.group ? ['Given to', `${task.group.name} (group)`] : ['', null],
      ['Created', time(task.createdAt)],
      ['Took', task.startedAt && (task.endedAt ? duration(seconds(task.startedAt, task.endedAt)) : h('span', null, 'since ', time(task.startedAt)))],
      ['Times out', task.deadline && time(task.deadline)],
      ['Cost', money(task.cost)],
      ['Tokens', `${task.tokensUsed.toLocaleString('en')} of ${task.maxTokens.toLocaleString('en')}`],
      ['Session', task.collaboration && h('a', { href: to('/sessions/:id', task.collaboration) }, cut(task.collaboration.goal, 60))],
      ['Conversation', task.conversation && h('a', { href: to('/conversations/:id', task.conversation) }, cut(task.conversation.title || 'untitled', 60))],
    ]),
    task.pickedBecause && h('p', { class: 'quiet small' }, task.pickedBecause));
}

/** What it does at this moment, or what keeps it. */
function now(task) {
  if (task.status === 'IN_PROGRESS') return h('p', { class: 'now tone-busy', role: 'status' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), task.progress || 'At work; it has told nothing yet.');
  const open = task.attention.nodes.find((item) => item.status === 'OPEN');
  if (open) return h('p', { class: 'now tone-wait' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('a', { href: to('/attention', {}, { item: open.id }) }, `Needs a person: ${open.title}`));
  if (task.status === 'PENDING' && task.waitingFor) return h('p', { class: 'now tone-wait' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), `Waits for ${plural(task.waitingFor, 'other')}.`);
  if (task.status === 'PENDING' && new Date(task.readyAt) > Date.now()) return h('p', { class: 'now tone-wait' }, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', null, 'Tried again ', time(task.readyAt)));
  return null;
}

const seconds = (from, until) => (new Date(until) - new Date(from)) / 1000;
