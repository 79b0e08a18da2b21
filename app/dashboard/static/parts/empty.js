// What to say where there is nothing, not yet, or not any more; each says what to do next.

import { h } from '../dom.js';
import { icon } from '../icons.js';
import { button } from './button.js';

/** empty({ icon: 'task', title: 'No tasks yet', text: 'Delegate one …', action }). */
export function empty({ icon: name = 'overview', title, text, action }) {
  return h('div', { class: 'empty' }, h('span', { class: 'empty-icon' }, icon(name, { size: 26 })), h('p', { class: 'empty-title' }, title), text && h('p', null, text), action);
}

/** What went wrong, what to do, and a button to try again. */
export function troubled(trouble, retry) {
  return h('div', { class: 'empty trouble', role: 'alert' },
    h('p', { class: 'empty-title' }, trouble.message),
    trouble.next && h('p', null, trouble.next),
    retry && button('Try again', retry));
}

/** Grey lines where the page will be. */
export function skeleton(lines = 4) {
  return h('div', { class: 'skeleton', role: 'status', 'aria-label': 'Loading' }, Array.from({ length: lines }, (_, index) => h('span', { key: index })));
}
