// What was done: the attempts, and every tool call with its arguments, its answer and its time.

import { h } from '../../dom.js';
import { count, cut, duration, money, plural } from '../../format.js';
import { agentLink, card, code, empty, status, table, time } from '../../parts.js';
import { to } from '../../router.js';

const OUTCOMES = { RUNNING: 'busy', COMPLETED: 'good', FAILED: 'bad', TIMED_OUT: 'bad', LOST: 'bad' };
const seconds = (from, until) => (until ? (new Date(until) - new Date(from)) / 1000 : null);

export function attempts(task) {
  const { nodes, totalCount } = task.attempts;
  if (!nodes.length) return null;
  return card({ title: 'Attempts', subtitle: totalCount > nodes.length ? `The last ${nodes.length} of ${count(totalCount)}` : null },
    table({ label: 'Attempts', columns: COLUMNS, rows: nodes }));
}

const two = (first, second) => h('span', { class: 'cell-title' }, h('span', null, first), h('small', { class: 'quiet' }, second));

const COLUMNS = [
  { name: 'Attempt', value: (attempt) => `${attempt.number}` },
  { name: 'Outcome', value: (attempt) => h('span', { class: 'cell-title' }, status(attempt.outcome, { tone: OUTCOMES[attempt.outcome] }), attempt.error && h('small', { class: 'error-text' }, cut(attempt.error, 240))) },
  { name: 'Agent', value: (attempt) => two(agentLink(attempt.agent), attempt.model ?? 'model not told') },
  { name: 'Took', align: 'end', value: (attempt) => two(duration(seconds(attempt.startedAt, attempt.endedAt)), ['began ', time(attempt.startedAt)]) },
  { name: 'Cost', align: 'end', value: (attempt) => two(money(attempt.cost), plural(attempt.tokensUsed, 'token')) },
];

export function toolCalls(task) {
  const { nodes, totalCount } = task.toolCalls;
  if (!nodes.length) return task.status === 'IN_PROGRESS' ? card({ title: 'Tool calls' }, empty({ icon: 'task', title: 'No tool used yet' })) : null;
  const left = totalCount > nodes.length ? `The last ${nodes.length} of ${count(totalCount)}` : `${count(totalCount)} of ${count(task.maxToolCalls)} that an attempt may make`;
  return card({ title: 'Tool calls', subtitle: left }, h('ol', { class: 'tool-calls' }, nodes.map(call)));
}

function call(one) {
  return h('li', { key: one.id },
    h('details', { class: 'call' },
      h('summary', null,
        status(one.error ? 'FAILED' : one.endedAt ? 'COMPLETED' : 'RUNNING', { text: one.error ? 'Failed' : one.endedAt ? 'Answered' : 'Running' }),
        h('code', { class: 'call-name' }, one.name),
        h('span', { class: 'call-brief quiet' }, cut(JSON.stringify(one.arguments), 90)),
        h('span', { class: 'call-time quiet' }, time(one.startedAt, { style: 'clock' }), ` · ${duration(seconds(one.startedAt, one.endedAt))}`)),
      h('div', { class: 'call-body' },
        one.attempt && h('p', { class: 'quiet small' }, `In attempt ${one.attempt.number}`),
        h('h3', null, 'Arguments'), code(one.arguments),
        h('h3', null, one.error ? 'Error' : 'Answer'), code(one.error ?? one.result ?? 'none yet'))),
    one.createdTask && h('p', { class: 'call-made' }, 'Delegated ', h('a', { href: to('/tasks/:id', one.createdTask) }, cut(one.createdTask.title, 90)), ' to ', agentLink(one.createdTask.assignee), ' ', status(one.createdTask.status)));
}
