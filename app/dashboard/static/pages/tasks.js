// All tasks, found by what they are, who has them and where they stand; and a form to delegate one.

import { h } from '../dom.js';
import { cut, money, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { agentChoices, agentLink, all, badge, button, card, CHOICES, empty, filters, filterSelect, filterWords, more, openDialog, status, table, time } from '../parts.js';
import { to } from '../router.js';
import { delegateDialog } from './task/delegate.js';
import { PRIORITIES, STATUSES, TYPES } from './task/kinds.js';

const FILTERS = ['words', 'status', 'assignee', 'type', 'priority'];
const KINDS = 'TASK_CREATED, TASK_CLAIMED, TASK_COMPLETED, TASK_FAILED, TASK_TIMED_OUT, TASK_CANCELLED, TASK_REQUEUED, TASK_PUT_ASIDE, TASK_REASSIGNED, TASK_DEAD_LETTERED';

const QUERY = `query Tasks($where: TaskFilter, $after: Cursor) {
  tasks(first: 40, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id title type priority purpose status progress createdAt endedAt cost attemptsMade waitingFor assignee { id name } creator { id name } }
  }
  team { defaultAgent { id } featureFlags { flag enabled } }
  ${CHOICES}
}`;

const STREAM = `subscription Tasks($after: Cursor) {
  teamEvents(after: $after, kinds: [${KINDS}]) {
    __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

function where({ words: text, status: state, assignee, type, priority }) {
  const said = text && { contains: text };
  return all([
    said && { or: [{ title: said }, { result: said }, { error: said }] },
    state && { status: { eq: state } },
    assignee && { assigneeId: { eq: assignee } },
    type && { type: { eq: type } },
    priority && { priority: { eq: priority } },
  ]);
}

export default {
  name: 'tasks',
  path: '/tasks',
  title: 'Tasks',
  nav: { label: 'Tasks', icon: 'task', group: 'Work', phone: true },
  needs: 'READ_TEAM',
  state: { dialog: null },

  data: ({ can, query }) => ({
    query: QUERY,
    variables: { where: where(query) },
    stream: can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, tasks: mergeConnection(old.tasks, fresh.tasks) }),
  }),

  view: (data, page) => [
    h('div', { class: 'list-head', key: 'head' }, controls(data, page), page.can('DELEGATE_TASKS') && button('Delegate a task', () => openDialog(page, 'delegate'), { kind: 'primary' })),
    card({ key: 'list' }, list(data, page)),
    page.state.dialog?.name === 'delegate' && delegateDialog(data, page),
  ],
};

function controls(data, page) {
  return filters(page, FILTERS,
    filterWords(page, { label: 'Words', placeholder: 'in title, result or error' }),
    filterSelect(page, { name: 'status', label: 'Status', options: STATUSES }),
    filterSelect(page, { name: 'assignee', label: 'Assignee', options: agentChoices(data, { paused: true }), any: 'Anybody' }),
    filterSelect(page, { name: 'type', label: 'Type', options: TYPES }),
    filterSelect(page, { name: 'priority', label: 'Priority', options: PRIORITIES }));
}

function list(data, page) {
  if (!data.tasks.nodes.length) return nothing(page);
  return [table({ label: 'Tasks', columns: COLUMNS, rows: data.tasks.nodes, href: ({ id }) => to('/tasks/:id', { id }) }), more(page, 'tasks')];
}

function nothing(page) {
  if (FILTERS.some((name) => page.query[name])) return empty({ icon: 'search', title: 'No task fits', text: 'Choose less, or clear the filters above.' });
  const text = page.can('DELEGATE_TASKS') ? 'Delegate one to an agent and watch it work.' : 'They appear here as soon as somebody delegates one.';
  return empty({ icon: 'task', title: 'No tasks yet', text });
}

const COLUMNS = [
  { name: 'Task', wide: true, value: (task) => h('span', { class: 'cell-title' }, h('span', null, cut(task.title, 120)), h('small', { class: 'quiet' }, `${words(task.type)} · ${words(task.purpose).toLowerCase()}`)) },
  { name: 'Status', value: (task) => status(task.status, { text: task.status === 'PENDING' && task.waitingFor ? `Waits for ${task.waitingFor}` : undefined }) },
  { name: 'Assignee', value: (task) => agentLink(task.assignee) },
  { name: 'Priority', value: (task) => (task.priority === 'NORMAL' ? h('span', { class: 'quiet' }, 'Normal') : badge(words(task.priority), { URGENT: 'bad', HIGH: 'wait' }[task.priority])) },
  { name: 'Attempts', align: 'end', value: (task) => task.attemptsMade },
  { name: 'Cost', align: 'end', value: (task) => money(task.cost) },
  { name: 'Created', align: 'end', value: (task) => time(task.createdAt) },
];
