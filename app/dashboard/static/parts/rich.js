// What agents wrote, with the marks that models use set in type. Nothing of it can become a link, an image or a script.

import { h } from '../dom.js';
import { blocksOf, spansOf } from '../marks.js';
import { prose } from './text.js';

const LONG = 6_000;
const SHOWN = 2_000;
const PLAIN_FROM = 40_000;  // longer ones are shown as they are: nobody reads them, and each redraw would pay
const REMEMBERED = 200;
const read = new Map();

/** The text with its marks. */
export function rich(text) {
  const whole = String(text ?? '');
  if (whole.length > PLAIN_FROM) return prose(whole);
  return h('div', { class: 'rich' }, blocks(whole).map(block));
}

/** A long text shows its beginning; the rest opens. */
export function foldedRich(text) {
  const whole = String(text ?? '');
  if (whole.length <= LONG) return rich(whole);
  return h('details', { class: 'folded' }, h('summary', null, h('div', { class: 'prose' }, rich(`${whole.slice(0, SHOWN)}…`)), h('span', { class: 'fold-more' }, 'Show all')), rich(whole));
}

function blocks(text) {
  if (!read.has(text)) {
    if (read.size >= REMEMBERED) read.delete(read.keys().next().value);
    read.set(text, blocksOf(text));
  }
  return read.get(text);
}

function block(one, index) {
  const props = { key: index };
  switch (one.kind) {
    case 'heading': return h('p', { ...props, class: `rich-heading rich-heading-${Math.min(one.level, 4)}` }, spans(one.text));
    case 'list': return h(one.ordered ? 'ol' : 'ul', { ...props, class: 'rich-list' }, one.items.map(({ depth, text }, place) => h('li', { key: place, class: depth && `rich-depth-${depth}` }, spans(text))));
    case 'table': return h('div', { ...props, class: 'table-frame' }, h('table', { class: 'rich-table' }, h('tbody', null, one.rows.map((cells, row) => h('tr', { key: row }, cells.map((cell, place) => h(row ? 'td' : 'th', { key: place, scope: row ? null : 'col' }, spans(cell))))))));
    case 'code': return h('pre', { ...props, class: 'code', tabindex: '0' }, one.text);
    case 'quote': return h('blockquote', props, spans(one.text));
    default: return h('p', props, spans(one.text));
  }
}

const spans = (text) => spansOf(text).map(({ tag, text: said }) => (tag ? h(tag, null, said) : said));
