// A number between bounds, to be drawn by mouse, finger or arrow keys; its value stands beside it.

import { h } from '../dom.js';
import { idOf } from './field.js';

/** slider({ label, name, value, min, max, step, shown, ends: ['dry', 'playful'], oninput, onchange }). */
export function slider({ label, name, value, shown = value, ends, hint, ...rest }) {
  const id = idOf(name);
  return h('div', { class: 'slider', key: name },
    h('label', { for: id }, label),
    h('output', { class: 'slider-value', for: id }, shown),
    // The value comes last: a browser rounds it to the bounds and steps that it knows then.
    h('input', { id, name, type: 'range', min: 0, max: 1, step: 0.05, 'aria-describedby': hint ? `${id}-hint` : null, ...rest, value }),
    ends && h('span', { class: 'slider-ends', 'aria-hidden': 'true' }, h('span', null, ends[0]), h('span', null, ends[1])),
    hint && h('p', { class: 'field-hint', id: `${id}-hint` }, hint));
}
