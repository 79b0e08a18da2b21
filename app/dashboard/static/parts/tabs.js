// Views of one page beside each other; the chosen one stands in the address.

import { h } from '../dom.js';

/** tabs(page, [['all', 'All'], ['open', 'Open', 3]]): the value is page.query.tab, the first without one. */
export function tabs(page, choices, { name = 'tab', label = 'Views' } = {}) {
  const chosen = chosenTab(page, choices, name);
  return h('div', { class: 'tabs', role: 'group', 'aria-label': label }, choices.map(([value, text, number]) =>
    h('button', { key: value, type: 'button', 'aria-pressed': String(value === chosen), onclick: () => page.setQuery({ [name]: value }) },
      text, number !== undefined && h('span', { class: 'tab-count' }, number))));
}

export function chosenTab(page, choices, name = 'tab') {
  const given = page.query[name];
  return choices.some(([value]) => value === given) ? given : choices[0][0];
}
