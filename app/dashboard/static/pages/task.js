// One task: what was asked, who works on it, what it did, what came of it; live with everything below it.

import { h } from '../dom.js';
import { EVENT_FIELDS, eventLine } from '../events.js';
import { keepEvent, mergeConnection } from '../live.js';
import { card, empty, linkButton } from '../parts.js';
import { to } from '../router.js';
import { actions, dialogs } from './task/acts.js';
import { asked, outcome } from './task/content.js';
import { head } from './task/head.js';
import { QUERY } from './task/query.js';
import { budget, links } from './task/side.js';
import { tree } from './task/tree.js';
import { attempts, toolCalls } from './task/work.js';

const FEED = 100;
const STREAM = `subscription Task($id: ID!, $after: Cursor) {
  taskEvents(taskId: $id, includeDescendants: true, after: $after) {
    __typename ... on Event { ${EVENT_FIELDS} } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

const newestFirst = (task) => [...(task.events?.nodes ?? [])].reverse();
const feedOf = (data) => data.feed ?? newestFirst(data.task);

/** Progress is told often: it goes straight to where it is shown. All else has the state read anew. */
function fold(data, event) {
  if (!data.task) return data;
  const feed = event.task?.id === data.task.id ? keepEvent(feedOf(data), event, FEED) : feedOf(data);
  if (event.kind !== 'TASK_PROGRESSED') return { ...data, feed };
  const { progress } = event.changes;
  const nodes = data.task.tree.nodes.map((node) => (node.id === event.task.id ? { ...node, progress } : node));
  const own = event.task.id === data.task.id ? { progress } : {};
  return { ...data, feed, task: { ...data.task, ...own, tree: { ...data.task.tree, nodes } } };
}

function merge(old, fresh) {
  if (!old.task || !fresh.task) return fresh;
  const read = newestFirst(fresh.task);
  const known = new Set(read.map(({ id }) => id));
  const feed = [...feedOf(old).filter(({ id, at }) => !known.has(id) && at > (read[0]?.at ?? '')), ...read].slice(0, FEED);
  return { ...fresh, feed, task: { ...fresh.task, tree: mergeConnection(old.task.tree, fresh.task.tree) } };
}

export default {
  name: 'task',
  path: '/tasks/:id',
  title: (data) => data?.task?.title ?? 'Task',
  under: '/tasks',
  needs: 'READ_TEAM',
  state: { dialog: null, folded: new Set() },

  data: ({ can, params, viewer }) => ({
    query: QUERY,
    variables: { id: params.id, mayRead: can('READ_EVENTS') },
    stream: can('READ_EVENTS') || viewer.agent ? STREAM : null,
    streamVariables: { id: params.id },
    fold,
    reloads: (event) => event.kind !== 'TASK_PROGRESSED',
    merge,
  }),

  view(data, page) {
    const { task } = data;
    if (!task) return empty({ icon: 'task', title: 'There is no such task', text: 'It may belong to another team, or your key may not see it.', action: linkButton('To the tasks', to('/tasks')) });
    return [
      h('div', { class: 'split', key: 'split' },
        h('div', { class: 'split-main' }, head(task, actions(task, page)), outcome(task), asked(task), toolCalls(task), attempts(task)),
        h('div', { class: 'split-side' }, budget(task), tree(task, page), links(task), page.can('READ_EVENTS') && events(data))),
      dialogs(data, page),
    ];
  },
};

function events(data) {
  const shown = feedOf(data);
  return card({ title: 'Events' }, shown.length ? h('ol', { class: 'feed', tabindex: '0', 'aria-label': 'Events of the task' }, shown.map((event) => eventLine({ ...event, task: { title: 'it' } }))) : h('p', { class: 'quiet' }, 'Older than what is kept.'));
}
