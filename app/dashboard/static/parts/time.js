// Moments: how long ago, with the full local date for those who ask.

import { h } from '../dom.js';
import { ago, clockTime, localTime } from '../format.js';

export function time(moment, { style = 'ago' } = {}) {
  if (!moment) return h('span', { class: 'quiet' }, '–');
  const text = style === 'clock' ? clockTime(moment) : style === 'full' ? localTime(moment) : ago(moment);
  return h('time', { datetime: moment, title: localTime(moment) }, text);
}
