// Lists and tables over connections, with "load more" where the server has more.

import { h } from '../dom.js';
import { count } from '../format.js';
import { at } from '../paths.js';
import { button } from './button.js';

/** more(page, 'tasks'): a button while the connection at that place of the page's data has a next page. See OpenPage.more(). */
export function more(page, name, cursor) {
  const { nodes, pageInfo, totalCount } = at(page.data, name);
  const known = totalCount === undefined ? '' : ` of ${count(totalCount)}`;
  return h('div', { class: 'more', key: `more ${name}` },
    h('span', { class: 'quiet' }, `${count(nodes.length)}${known} shown`),
    pageInfo.hasNextPage && button('Load more', () => page.more(name, cursor), { busy: page.isBusy(`more ${name}`) }));
}

/**
 * table({ label, columns: [{ name, value(row), align, wide }], rows, href(row) }). On a phone each row becomes a card
 * with the columns' names before their values.
 */
export function table({ label, columns, rows, href, keyOf = (row) => row.id }) {
  const cell = (row) => (column, index) => {
    const value = column.value(row);
    const link = href && index === 0 ? h('a', { class: 'row-link', href: href(row) }, value) : value;
    return h('td', { key: column.name, class: [column.align === 'end' && 'end', column.wide && 'wide'], 'data-name': column.name }, link);
  };
  return h('div', { class: 'table-frame' }, h('table', { 'aria-label': label, class: 'table' },
    h('thead', null, h('tr', null, columns.map((column) => h('th', { key: column.name, scope: 'col', class: column.align === 'end' && 'end' }, column.name)))),
    h('tbody', null, rows.map((row) => h('tr', { key: keyOf(row), class: href && 'linked' }, columns.map(cell(row)))))));
}
