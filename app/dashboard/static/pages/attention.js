// The queue of everything that needs a person: one is open beside the list, to be answered, assigned or looked back on.

import { h } from '../dom.js';
import { cut, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { all, card, chosenTab, countdown, empty, filterSelect, more, status, tabs, time, toast } from '../parts.js';
import { to } from '../router.js';
import { detail } from './attention/detail.js';
import { KINDS, QUERY, STREAM } from './attention/query.js';

const TABS = [['open', 'Open'], ['closed', 'Closed'], ['all', 'All']];
const STATES = { open: { status: { eq: 'OPEN' } }, closed: { status: { ne: 'OPEN' } } };
const CLOSED = { ATTENTION_ANSWERED: 'answered', ATTENTION_EXPIRED: 'Nobody answered in time', ATTENTION_WITHDRAWN: 'Nobody needs the answer any more' };

/** Somebody else closed what this window has open: say who, and what they said. */
function tell(page, event) {
  const { attentionItem: item, kind } = event;
  if (!CLOSED[kind] || item?.id !== page.query.item || page.state.mine.has(item.id)) return;
  const said = [item.option && words(item.option), item.answer].filter(Boolean).join(': ');
  const text = kind === 'ATTENTION_ANSWERED' ? `${item.closedBy ?? event.actor} answered “${cut(item.title, 60)}”` : `${CLOSED[kind]}: “${cut(item.title, 60)}”`;
  toast({ text, detail: cut(said, 160), tone: 'wait' });
}

export default {
  name: 'attention',
  path: '/attention',
  title: 'Attention',
  nav: { label: 'Attention', icon: 'attention', group: 'Needs a person', phone: true },
  needs: 'READ_TEAM',
  state: { dialog: null, mine: new Set(), refused: null },

  data: (page) => ({
    query: QUERY,
    variables: { where: all([STATES[chosenTab(page, TABS)], page.query.kind && { kind: { eq: page.query.kind } }]), item: page.query.item ?? '', open: Boolean(page.query.item) },
    stream: page.can('READ_EVENTS') || page.viewer.agent ? STREAM : null,
    fold: (data, event) => {
      tell(page, event);
      return data;
    },
    reloads: () => true,
    merge: (old, fresh) => ({ ...fresh, attention: mergeConnection(old.attention, fresh.attention) }),
  }),

  view: (data, page) => [
    h('div', { class: ['desk', page.query.item && 'has-open'], key: 'desk' },
      h('div', { class: 'desk-list' },
        tabs(page, TABS.map(([value, text]) => (value === 'open' ? [value, text, data.waiting.totalCount] : [value, text])), { label: 'Which' }),
        h('div', { class: 'filters' }, filterSelect(page, { name: 'kind', label: 'Kind', options: KINDS })),
        list(data, page)),
      h('div', { class: 'desk-open' }, page.query.item ? detail(data, page) : data.attention.nodes.length > 0 && empty({ icon: 'attention', title: 'Choose one', text: 'It opens here, with what is needed to answer.' }))),
  ],
};

function list(data, page) {
  const { nodes } = data.attention;
  if (!nodes.length) return card({}, chosenTab(page, TABS) === 'open' ? empty({ icon: 'check', title: 'Nothing waits for you', text: 'Questions of agents, approvals, dead letters and budgets near their cap appear here at once.' }) : empty({ icon: 'attention', title: 'None' }));
  return card({ class: 'desk-card' }, h('ul', { class: 'rows' }, nodes.map((item) => row(item, page))), more(page, 'attention'));
}

function row(item, page) {
  const here = item.id === page.query.item;
  return h('li', { key: item.id, class: ['row', here && 'is-here'] },
    h('a', { class: 'row-link row-text', href: to('/attention', {}, { ...page.query, item: item.id }), 'aria-current': here ? 'true' : null }, cut(item.title, 140)),
    h('span', { class: 'row-meta' }, status(item.status, { text: words(item.kind), tone: item.status === 'OPEN' ? 'wait' : 'calm' }),
      item.agent && h('span', null, item.agent.name),
      item.status === 'OPEN' ? item.deadline && h('span', null, 'due ', countdown(item.deadline, page.redraw)) : h('span', null, `${words(item.status).toLowerCase()}${item.closedBy ? ` by ${item.closedBy}` : ''}`),
      item.assignee && h('span', null, `for ${item.assignee}`), time(item.createdAt)));
}
