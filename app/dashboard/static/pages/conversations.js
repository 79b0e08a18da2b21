// All conversations, the last used first; and a form to start one.

import { mutation } from '../api.js';
import { h } from '../dom.js';
import { bare, cut, plural } from '../format.js';
import { mergeConnection } from '../live.js';
import { actionDialog, agentChoices, agentLink, all, button, card, CHOICES, checkbox, empty, field, filters, filterSelect, filterWords, more, openDialog, status, table, time } from '../parts.js';
import { go, to } from '../router.js';

const FILTERS = ['words', 'status', 'agent'];
const KINDS = 'CONVERSATION_STARTED, CONVERSATION_CLOSED, CONVERSATION_HANDED_OFF, CONVERSATION_RETURNED, MESSAGE_ADDED, REPLY_STARTED, REPLY_COMPLETED, REPLY_FAILED, REPLY_CANCELLED';
const START = mutation('startConversation', 'StartConversationInput', 'ConversationPayload { conversation { id } }');

const QUERY = `query Conversations($where: ConversationFilter, $after: Cursor) {
  conversations(first: 30, after: $after, where: $where, orderBy: [{ field: UPDATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes {
      id title status userName messageCount updatedAt primaryAgent { id name }
      running: replies(first: 1, where: { status: { in: [PENDING, RUNNING] } }) { totalCount }
      newest: messages(last: 1) { nodes { id authorName text } }
    }
  }
  team { defaultAgent { id } }
  ${CHOICES}
}`;

const STREAM = `subscription Conversations($after: Cursor) {
  teamEvents(after: $after, kinds: [${KINDS}]) {
    __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

function where({ words, status: state, agent }) {
  const said = words && { contains: words };
  return all([said && { or: [{ title: said }, { userName: said }] }, state && { status: { eq: state } }, agent && { primaryAgentId: { eq: agent } }]);
}

export default {
  name: 'conversations',
  path: '/conversations',
  title: 'Conversations',
  nav: { label: 'Conversations', icon: 'conversation', group: 'Work' },
  needs: 'READ_TEAM',
  state: { dialog: null },

  data: ({ can, query }) => ({
    query: QUERY,
    variables: { where: where(query) },
    stream: can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, conversations: mergeConnection(old.conversations, fresh.conversations) }),
  }),

  view: (data, page) => [
    h('div', { class: 'list-head', key: 'head' },
      filters(page, FILTERS,
        filterWords(page, { label: 'Words', placeholder: 'in title or user' }),
        filterSelect(page, { name: 'status', label: 'Status', options: ['OPEN', 'CLOSED'] }),
        filterSelect(page, { name: 'agent', label: 'Agent', options: agentChoices(data, { paused: true }), any: 'Any' })),
      page.can('MANAGE_CONVERSATIONS') && button('Start a conversation', () => openDialog(page, 'start'), { kind: 'primary' })),
    card({ key: 'list' }, list(data, page)),
    page.state.dialog?.name === 'start' && startDialog(data, page),
  ],
};

function list(data, page) {
  const { nodes } = data.conversations;
  if (nodes.length) return [table({ label: 'Conversations', columns: COLUMNS, rows: nodes, href: ({ id }) => to('/conversations/:id', { id }) }), more(page, 'conversations')];
  if (FILTERS.some((name) => page.query[name])) return empty({ icon: 'search', title: 'No conversation fits', text: 'Choose less, or clear the filters above.' });
  return empty({ icon: 'conversation', title: 'No conversation yet', text: page.can('MANAGE_CONVERSATIONS') ? 'Start one and ask something: the right agent answers.' : 'They appear here as soon as somebody starts one.' });
}

const COLUMNS = [
  { name: 'Conversation', wide: true, value: brief },
  { name: 'Status', value: (one) => (one.running.totalCount ? status('RUNNING', { text: 'Answering' }) : status(one.status, { tone: one.status === 'OPEN' ? 'good' : 'calm' })) },
  { name: 'Has it', value: (one) => agentLink(one.primaryAgent) },
  { name: 'User', value: (one) => one.userName },
  { name: 'Messages', align: 'end', value: (one) => one.messageCount },
  { name: 'Changed', align: 'end', value: (one) => time(one.updatedAt) },
];

function brief(one) {
  const [newest] = one.newest.nodes;
  return h('span', { class: 'cell-title' }, h('span', null, cut(one.title || 'Untitled', 100)), newest && h('small', { class: 'quiet' }, `${newest.authorName}: ${cut(bare(newest.text), 100)}`));
}

function startDialog(data, page) {
  const invited = (values) => Object.keys(values).filter((name) => name.startsWith('invite-') && values[name]).map((name) => name.slice('invite-'.length));
  return actionDialog(page, {
    title: 'Start a conversation', submit: 'Start', change: START, done: null,
    input: ({ title, agentId, userName, ...rest }) => ({ title: title.trim(), agentId: agentId || null, userName: userName.trim() || null, invite: invited(rest).filter((id) => id !== agentId) }),
    then: ({ conversation }) => go(to('/conversations/:id', conversation)),
  }, (problem) => [
    field({ label: 'What it is about', name: 'title', maxlength: 200, error: problem('title') }),
    field({ label: 'With', name: 'agentId', options: [['', 'The team’s default agent'], ...agentChoices(data)], error: problem('agentId') }),
    field({ label: 'User’s name', name: 'userName', maxlength: 120, hint: 'Left out: the name of your key.', error: problem('userName') }),
    h('fieldset', { class: 'choice-set', key: 'invite' }, h('legend', null, `More who take part (${plural(data.agents.nodes.length, 'agent')} to choose from)`), agentChoices(data).map(([id, name]) => checkbox({ label: name, name: `invite-${id}` }))),
  ]);
}
