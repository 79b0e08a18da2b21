// What agents and people wrote, as it is: never markup, lines kept, long texts folded.

import { h } from '../dom.js';

const LONG = 1200;

export function prose(text, { class: name = '' } = {}) {
  return h('div', { class: `prose ${name}` }, String(text ?? ''));
}

/** A long text shows its beginning; the rest opens. */
export function foldedProse(text) {
  const whole = String(text ?? '');
  if (whole.length <= LONG) return prose(whole);
  return h('details', { class: 'folded' }, h('summary', null, h('div', { class: 'prose' }, `${whole.slice(0, LONG)}…`), h('span', { class: 'fold-more' }, 'Show all')), prose(whole));
}

export function code(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return h('pre', { class: 'code', tabindex: '0' }, text);
}
