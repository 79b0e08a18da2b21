// Shares as bars: one value of a whole, or a gauge of what is spent and reserved.

import { h } from '../dom.js';

const width = (share) => ({ '--share': `${Math.max(0, Math.min(1, share || 0)) * 100}%` });

/** bar(0.4, { label: 'Skill match', value: '0.40' }). */
export function bar(share, { label, value, tone = 'accent' } = {}) {
  return h('div', { class: 'bar-row' },
    label && h('span', { class: 'bar-label' }, label),
    h('span', { class: 'bar', 'aria-hidden': 'true' }, h('span', { class: `bar-fill tone-${tone}`, style: width(share) })),
    value !== undefined && h('span', { class: 'bar-value' }, value));
}

/** What of a cap is spent, and what is reserved on top; both shares of the cap. */
export function gauge({ spent, reserved, label }) {
  const tone = spent + reserved > 0.95 ? 'bad' : spent + reserved > 0.8 ? 'wait' : 'accent';
  return h('div', { class: 'gauge', role: 'img', 'aria-label': label },
    h('span', { class: `bar-fill tone-${tone}`, style: width(spent) }),
    h('span', { class: `bar-fill reserved tone-${tone}`, style: width(reserved) }));
}
