// Where values lie between 0 and 1: a band from low to high with a mark at the middle, and a line where a bound is.

import { h } from '../dom.js';

const at = (share) => `${Math.max(0, Math.min(1, share ?? 0)) * 100}%`;

/** range({ low: 0.4, middle: 0.6, high: 0.8, bound: 0.5, label, value }). */
export function range({ low, middle, high, bound, label, value, look = 'tone-accent' }) {
  return h('div', { class: 'bar-row' },
    h('span', { class: 'bar-label' }, label),
    h('span', { class: 'range', 'aria-hidden': 'true' },
      h('span', { class: `range-band ${look}`, style: { left: at(low), right: at(1 - (high ?? 0)) } }),
      h('span', { class: `range-middle ${look}`, style: { left: at(middle) } }),
      bound !== undefined && h('span', { class: 'range-bound', style: { left: at(bound) } })),
    h('span', { class: 'bar-value' }, value));
}
