// One span: what an agent was asked, which tools it called, whom it asked in turn, what it answered, and what it cost.

import { h } from '../../dom.js';
import { count, duration, money } from '../../format.js';
import { Live } from '../../live.js';
import { agentLink, code, copyId, dialog, facts, foldedProse, foldedRich, linkButton, meta, skeleton, status, time, troubled } from '../../parts.js';
import { to } from '../../router.js';
import { DETAIL } from './queries.js';

/** The dialog of the span that the address names; null without one. */
export function detail(page) {
  const id = page.query.span;
  const { state } = page;
  if (state.detail && state.detail.spec.variables.id !== id) closeDetail(page);
  if (!id) return null;
  state.detail ??= new Live({ api: page.api, spec: { query: DETAIL, variables: { id } }, redraw: page.redraw });
  const { data, trouble } = state.detail;
  const task = data?.task;
  return dialog({ title: task?.title ?? 'Span', class: 'wide', key: `span ${id}`, onclose: () => page.setQuery({ span: undefined }) },
    trouble && !data ? troubled(trouble, state.detail.reload) : !data ? skeleton(3) : task ? body(task) : h('p', null, 'The task is no longer there.'));
}

export function closeDetail(page) {
  page.state.detail?.end();
  page.state.detail = null;
}

/** An event of the shown task has it read anew. */
export function hearDetail(page, event) {
  const { detail: shown } = page.state;
  if (shown && (event.task?.id === shown.spec.variables.id || event.changes.parentId === shown.spec.variables.id)) shown.reload();
}

function body(task) {
  const took = task.startedAt && (new Date(task.endedAt ?? Date.now()) - new Date(task.startedAt)) / 1000;
  return h('div', { class: 'span-detail' },
    h('p', { class: 'row-meta' }, status(task.status), agentLink(task.assignee), task.creator && h('span', null, 'for ', agentLink(task.creator)), copyId(task.id)),
    facts([
      ['Cost', `${money(task.cost)} of ${money(task.budget.cap)}`], ['Tokens', count(task.tokensUsed)], ['Took', took ? duration(took) : '–'],
      ['Attempts', count(task.attemptsMade)], ['Ordered', time(task.createdAt, { style: 'clock' })],
    ]),
    section('Input', foldedProse(task.instructions), task.context && h('details', null, h('summary', null, 'Context'), foldedProse(task.context))),
    section(`Tool calls (${task.toolCalls.totalCount})`, task.toolCalls.nodes.length ? h('ol', { class: 'span-calls' }, task.toolCalls.nodes.map(call)) : h('p', { class: 'quiet' }, 'None.')),
    task.subtasks.totalCount > 0 && section(`Delegated (${task.subtasks.totalCount})`, h('ul', { class: 'rows' }, task.subtasks.nodes.map(subtask))),
    section('Output', output(task)),
    h('div', { class: 'form-actions' }, linkButton('Open the task', to('/tasks/:id', { id: task.id }), { icon: 'task' })));
}

const section = (title, ...children) => h('section', { key: title.split(' (')[0] }, h('h3', null, title), children);

function output(task) {
  return [
    task.error && h('p', { class: 'notice tone-bad' }, `${task.errorCode}: ${task.error}`),
    task.result ? foldedRich(task.result) : task.progress ? [h('p', { class: 'quiet' }, 'So far:'), foldedRich(task.progress)] : !task.error && h('p', { class: 'quiet' }, 'Nothing yet.'),
    task.output !== null && code(task.output),
  ];
}

function call(one) {
  const took = one.endedAt && (new Date(one.endedAt) - new Date(one.startedAt)) / 1000;
  return h('li', { key: one.id },
    h('details', null,
      h('summary', null, h('code', null, one.name), one.error ? status('FAILED') : null, h('span', { class: 'quiet' }, took === null ? 'under way' : duration(took))),
      code(one.arguments), one.error ? h('p', { class: 'notice tone-bad' }, one.error) : one.result !== null && foldedProse(one.result)),
    one.createdTask && h('p', { class: 'row-meta' }, 'delegated ', h('a', { href: to('/tasks/:id', { id: one.createdTask.id }) }, one.createdTask.title)));
}

function subtask(one) {
  return h('li', { class: 'row', key: one.id },
    h('a', { class: 'row-link row-text', href: to('/tasks/:id', { id: one.id }) }, one.title),
    meta(status(one.status), one.assignee.name, money(one.cost)));
}

