// Panels with a heading, and pairs of names and values.

import { h } from '../dom.js';

/** card({ title: 'Budget', actions: [...], key }, children). */
export function card({ title, subtitle, actions, key, class: name = '', level = 'h2' } = {}, ...children) {
  return h('section', { class: `card ${name}`, key },
    (title || actions) && h('header', { class: 'card-head' },
      h('div', null, title && h(level, { class: 'card-title' }, title), subtitle && h('p', { class: 'card-subtitle' }, subtitle)),
      actions && h('div', { class: 'card-actions' }, actions)),
    children);
}

/** facts([['Cost', money(1)], ['Goal', text]]): pairs without a value are left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return h('dl', { class: 'facts' }, shown.map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))));
}

/** A figure with its name below: figure('12', 'tool calls'). */
export function figure(value, name, { tone } = {}) {
  return h('div', { class: ['figure', tone && `tone-${tone}`] }, h('span', { class: 'figure-value' }, value), h('span', { class: 'figure-name' }, name));
}
