// What agents say to each other: one agent's inbox, unread first, or all that was said in the team.

import { h } from '../dom.js';
import { count } from '../format.js';
import { mergeConnection } from '../live.js';
import { all, avatar, button, card, empty, filters, filterSelect, linkButton, more, openDialog } from '../parts.js';
import { put } from '../paths.js';
import { to } from '../router.js';
import { dialogs, readAll } from './inbox/acts.js';
import { entry, letter } from './inbox/letters.js';
import { CHANNELS, INBOX, INBOX_STREAM, TRAFFIC, TRAFFIC_STREAM, TYPES } from './inbox/query.js';

const FILTERS = ['type', 'channel', 'unread'];

function ofInbox(page, agent) {
  const { type, unread } = page.query;
  return {
    query: INBOX,
    variables: { agent, where: all([type && { type: { eq: type } }, unread && { unread: { eq: true } }]) },
    stream: page.can('READ_EVENTS') || page.viewer.agent ? INBOX_STREAM : null,
    streamVariables: { agent },
    merge: (old, fresh) => (old.owner?.inbox && fresh.owner?.inbox ? put(fresh, 'owner.inbox', mergeConnection(old.owner.inbox, fresh.owner.inbox)) : fresh),
    keep: false,
  };
}

function ofTraffic(page) {
  const { type, channel } = page.query;
  return {
    query: TRAFFIC,
    variables: { where: all([type && { type: { eq: type } }, channel && { channelKind: { eq: channel } }]) },
    stream: page.can('READ_EVENTS') ? TRAFFIC_STREAM : null,
    merge: (old, fresh) => ({ ...fresh, agentMessages: mergeConnection(old.agentMessages, fresh.agentMessages) }),
    keep: false,
  };
}

export default {
  name: 'inbox',
  path: '/inbox',
  title: 'Inbox',
  nav: { label: 'Inbox', icon: 'inbox', group: 'Agents' },
  needs: 'READ_TEAM',
  state: { dialog: null },

  data: (page) => {
    const agent = page.viewer.agent?.id ?? page.query.agent;
    return agent ? ofInbox(page, agent) : ofTraffic(page);
  },

  view: (data, page) => [
    h('div', { class: 'split inbox', key: 'inbox' },
      h('div', { class: 'split-main' }, data.owner !== undefined ? inbox(data, page) : traffic(data, page)),
      !page.viewer.agent && h('div', { class: 'split-side' }, boxes(data, page))),
    dialogs(data, page),
  ],
};

function boxes({ agents }, page) {
  const { agent: chosen } = page.query;
  const link = (id, label, face, unread) => h('li', { key: id || 'all' }, h('a', { class: 'box-link', href: to('/inbox', {}, { agent: id }), 'aria-current': (chosen ?? '') === id ? 'true' : null }, face, h('span', null, label), unread > 0 && h('span', { class: 'nav-count' }, count(unread), h('span', { class: 'unseen' }, ' unread'))));
  return card({ title: 'Inboxes', class: 'boxes' }, h('ul', null, link('', 'All that was said', null, 0), agents.nodes.map((agent) => link(agent.id, agent.name, avatar(agent, { size: 'small' }), agent.unreadCount))));
}

const write = (page) => page.can('MESSAGE_AGENTS') && button('Write', () => openDialog(page, 'write'), { kind: 'primary' });

function inbox(data, page) {
  const { owner } = data;
  if (!owner?.name) return empty({ icon: 'inbox', title: 'There is no such inbox', action: linkButton('To all that was said', to('/inbox')) });
  const { nodes } = owner.inbox;
  const unread = owner.unreadCount;
  return card({
    title: `${owner.name}’s inbox`, subtitle: unread ? `${count(unread)} unread` : 'All read',
    actions: [unread > 0 && page.can('MESSAGE_AGENTS') && button('Mark all as read', () => readAll(data, page), { busy: page.isBusy('read all') }), write(page)],
  },
  filters(page, FILTERS,
    filterSelect(page, { name: 'type', label: 'Type', options: TYPES }),
    filterSelect(page, { name: 'unread', label: 'Show', options: [['yes', 'Unread only']], any: 'All' })),
  nodes.length ? [h('ul', { class: 'letters' }, nodes.map((one) => entry(one, page))), more(page, 'owner.inbox')]
    : empty({ icon: 'inbox', title: FILTERS.some((name) => page.query[name]) ? 'No message fits' : 'Nothing came yet', text: `What other agents write to ${owner.name} appears here at once.` }));
}

function traffic(data, page) {
  const { nodes } = data.agentMessages;
  return card({ title: 'All that was said', subtitle: 'Between agents, the newest first', actions: write(page) },
    filters(page, FILTERS,
      filterSelect(page, { name: 'type', label: 'Type', options: TYPES }),
      filterSelect(page, { name: 'channel', label: 'Channel', options: CHANNELS })),
    nodes.length ? [h('ul', { class: 'letters' }, nodes.map((one) => letter(one, page))), more(page, 'agentMessages')]
      : empty({ icon: 'inbox', title: FILTERS.some((name) => page.query[name]) ? 'No message fits' : 'Agents have said nothing to each other yet', text: 'They write to each other while they work, or you write in the name of one.' }));
}
