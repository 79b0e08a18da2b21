// The whole tree that a task belongs to, each branch to fold away.

import { h } from '../../dom.js';
import { cut, money, plural } from '../../format.js';
import { avatar, card, more, status } from '../../parts.js';
import { to } from '../../router.js';

export function tree(task, page) {
  const { nodes, totalCount, pageInfo } = task.tree;
  if (totalCount < 2) return null;
  const below = new Map();
  const known = new Set(nodes.map(({ id }) => id));
  for (const node of nodes) {
    const above = known.has(node.parentId) ? node.parentId : null;
    below.set(above, [...(below.get(above) ?? []), node]);
  }
  return card({ title: 'Tree', subtitle: plural(totalCount, 'task') },
    h('div', { class: 'tree' }, branch(below, null, task, page)),
    pageInfo.hasNextPage && more(page, 'task.tree'));
}

function branch(below, above, task, page) {
  return h('ul', null, (below.get(above) ?? []).map((node) => leaf(below, node, task, page)));
}

function leaf(below, node, task, page) {
  const children = below.get(node.id);
  const folded = page.state.folded.has(node.id);
  return h('li', { key: node.id },
    h('div', { class: ['leaf', node.id === task.id && 'is-here'] },
      children ? fold(node, children, folded, page) : h('span', { class: 'fold' }),
      avatar(node.assignee, { size: 'small' }),
      h('div', { class: 'leaf-text' },
        node.id === task.id ? h('strong', { 'aria-current': 'true' }, cut(node.title, 80)) : h('a', { href: to('/tasks/:id', node) }, cut(node.title, 80)),
        h('span', { class: 'row-meta' }, status(node.status), node.assignee.name, Number(node.cost) > 0 && money(node.cost)),
        node.status === 'IN_PROGRESS' && node.progress && h('small', { class: 'quiet' }, cut(node.progress, 140)))),
    children && !folded && branch(below, node.id, task, page));
}

function fold(node, children, folded, page) {
  const turn = () => {
    const { folded: now } = page.state;
    page.set({ folded: now.has(node.id) ? new Set([...now].filter((id) => id !== node.id)) : new Set([...now, node.id]) });
  };
  const label = `${folded ? 'Show' : 'Hide'} ${plural(children.length, 'subtask')} of ${node.title}`;
  return h('button', { type: 'button', class: 'fold', 'aria-expanded': String(!folded), 'aria-label': label, onclick: turn }, folded ? '▸' : '▾');
}
