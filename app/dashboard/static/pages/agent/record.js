// How an agent does: whether it takes work now, and what it did in the last days.

import { h } from '../../dom.js';
import { count, duration, money, percent, plural } from '../../format.js';
import { card, facts, linkButton, status } from '../../parts.js';
import { to } from '../../router.js';

const REASONS = { ARCHIVED: 'it is archived', AT_CAPACITY: 'it has as many open tasks as it may', PAUSED: 'it is paused' };

export function availability(agent) {
  const { available, reason, activeTasks, activeConversations, estimatedWaitSeconds } = agent.availability;
  return card({ title: 'Now' },
    h('p', { class: 'agent-state' }, status(agent.status), h('span', null, available ? 'Takes new tasks' : `Takes no new task: ${REASONS[reason]}`)),
    facts([
      ['Open tasks', count(activeTasks)],
      ['Conversations', count(activeConversations)],
      ['Wait for a new task', estimatedWaitSeconds === null ? 'not known' : duration(estimatedWaitSeconds)],
      ['Inbox', h('a', { href: to('/inbox', {}, { agent: agent.id }) }, plural(agent.unreadCount, 'unread message'))],
    ]));
}

const spread = (median, p95) => (median === null ? '–' : `${duration(median)}; 95 % within ${duration(p95)}`);

export function record(agent) {
  const { record: done } = agent;
  const share = done.successShare === null ? '' : `, ${percent(done.successShare)} of ended`;
  return card({ title: 'Record', subtitle: 'The last 30 days', actions: linkButton('Decisions', to('/routing', {}, { agent: agent.id, window: '-P30D' }), { kind: 'quiet' }) }, facts([
    ['Tasks completed', `${count(done.tasksCompleted)}${share}`],
    ['Attempts', count(done.attempts)],
    ['Tool calls', count(done.toolCalls)],
    ['Time worked', duration(done.workSeconds)],
    ['Attempt, median', spread(done.medianAttemptSeconds, done.p95AttemptSeconds)],
    ['First choice', `${count(done.firstChoices)} of ${plural(done.selections, 'selection')}`],
    ['Answer, median', spread(done.medianResponseSeconds, done.p95ResponseSeconds)],
    ['Rating', done.meanStars === null ? 'nobody rated' : `${done.meanStars.toFixed(1)} of 5 (${count(done.ratings)})`],
    ['Cost', `${money(done.attemptCost)} for tasks, ${money(done.answerCost)} for answers`],
  ]));
}
