// Filters of a list that stand in the address, so that a filtered list can be sent to somebody.

import { h } from '../dom.js';
import { words } from '../format.js';
import { button } from './button.js';
import { field } from './field.js';

const TYPING_MS = 350;
let typing = null;

/** filters(page, ['status', 'words'], controls): the row, with a button that clears those names. */
export function filters(page, names, ...controls) {
  const given = names.some((name) => page.query[name]);
  const clear = () => page.setQuery(Object.fromEntries(names.map((name) => [name, ''])));
  return h('div', { class: 'filters', role: 'search' }, controls, given && button('Clear', clear, { kind: 'quiet' }));
}

/** A choice; values of an enum are put into words. */
export function filterSelect(page, { name, label, options, any = 'All' }) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, words(option)]));
  const onchange = (event) => page.setQuery({ [name]: event.target.value });
  return field({ label, name: `filter-${name}`, options: [['', any], ...pairs], value: page.query[name] ?? '', onchange });
}

/** Words to look for, a moment after the last key. */
export function filterWords(page, { name = 'words', label = 'Words', placeholder = '' }) {
  const oninput = (event) => {
    const { value } = event.target;
    clearTimeout(typing);
    typing = setTimeout(() => page.setQuery({ [name]: value.trim() }), TYPING_MS);
  };
  return field({ label, name: `filter-${name}`, type: 'search', placeholder, value: page.query[name] ?? '', oninput });
}

/** and([a && {…}, b && {…}]): the conditions that are given as one filter; null without any. */
export function all(conditions) {
  const given = conditions.filter(Boolean);
  return given.length ? { and: given } : null;
}
