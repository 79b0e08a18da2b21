// Beside a task: its budget, and what it hangs together with.

import { h } from '../../dom.js';
import { cut, money, words } from '../../format.js';
import { agentLink, card, gauge, status } from '../../parts.js';
import { to } from '../../router.js';

export function budget(task) {
  const [cap, spent, reserved, remaining] = ['cap', 'spent', 'reserved', 'remaining'].map((name) => Number(task.budget[name]));
  const told = `${money(spent)} spent and ${money(reserved)} reserved of ${money(cap)}`;
  return card({ title: 'Budget', subtitle: 'For it and what it delegates' },
    h('div', { class: 'budget' },
      h('p', null, h('span', null, h('strong', null, money(spent)), ` of ${money(cap)}`), h('span', { class: 'quiet' }, task.budget.closedAt ? 'settled' : `${money(remaining)} left`)),
      gauge({ spent: cap ? spent / cap : 0, reserved: cap ? reserved / cap : 0, label: told }),
      reserved > 0 && h('p', { class: 'quiet small' }, `${money(reserved)} reserved for tasks below it`)));
}

export function links(task) {
  const groups = [
    ['Waits for', task.dependencies.nodes, task.dependencies.totalCount],
    ['Others wait for it', task.dependants.nodes, task.dependants.totalCount],
  ].filter(([, nodes]) => nodes.length);
  const letters = task.deadLetters.nodes;
  const asked = task.attention.nodes;
  if (!groups.length && !letters.length && !asked.length) return null;
  return card({ title: 'Hangs together with' },
    groups.map(([name, nodes, total]) => h('div', { class: 'part', key: name }, h('h3', null, name), h('ul', { class: 'rows' }, nodes.map(neighbour)), total > nodes.length && h('p', { class: 'quiet small' }, `and ${total - nodes.length} more`))),
    asked.length > 0 && h('div', { class: 'part', key: 'asked' }, h('h3', null, 'Needed a person'), h('ul', { class: 'rows' }, asked.map((item) => h('li', { key: item.id, class: 'row' },
      h('a', { class: 'row-link', href: to('/attention', {}, { item: item.id }) }, cut(item.title, 90)), h('span', { class: 'row-meta' }, status(item.status), words(item.kind)))))),
    letters.length > 0 && h('div', { class: 'part', key: 'letters' }, h('h3', null, 'Failed for good'), h('ul', { class: 'rows' }, letters.map((letter) => h('li', { key: letter.id, class: 'row' },
      h('a', { class: 'row-link', href: to('/dead-letters', {}, { letter: letter.id }) }, cut(letter.reason, 90)), h('span', { class: 'row-meta' }, status(letter.status), letter.resolvedBy))))));
}

function neighbour(task) {
  return h('li', { key: task.id, class: 'row' },
    h('a', { href: to('/tasks/:id', task) }, cut(task.title, 90)),
    h('span', { class: 'row-meta' }, status(task.status), agentLink(task.assignee)));
}
