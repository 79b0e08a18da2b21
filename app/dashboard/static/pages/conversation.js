// One conversation: what was said and is being said, by whom and why; and all that a person may do in it.

import { h } from '../dom.js';
import { agentLink, card, copyId, empty, facts, linkButton, status, time } from '../parts.js';
import { to } from '../router.js';
import { actions, dialogs } from './conversation/acts.js';
import { composer } from './conversation/composer.js';
import { fold, merge, reloads } from './conversation/flow.js';
import { messages } from './conversation/messages.js';
import { QUERY, STREAM } from './conversation/query.js';
import { participants, stack, variables } from './conversation/side.js';

export default {
  name: 'conversation',
  path: '/conversations/:id',
  title: (data) => (data?.conversation ? data.conversation.title || 'Untitled' : 'Conversation'),
  under: '/conversations',
  needs: 'READ_TEAM',
  state: { dialog: null, atEnd: true, contributions: {} },

  data: ({ can, params, viewer }) => ({
    query: QUERY,
    variables: { id: params.id },
    stream: can('READ_EVENTS') || viewer.agent ? STREAM : null,
    streamVariables: { id: params.id },
    fold,
    reloads,
    merge,
  }),

  view(data, page) {
    const { conversation } = data;
    if (!conversation) return empty({ icon: 'conversation', title: 'There is no such conversation', text: 'It may belong to another team, or your key may not see it.', action: linkButton('To the conversations', to('/conversations')) });
    return [
      h('div', { class: 'talk', key: 'talk' },
        h('section', { class: 'chat card', 'aria-label': 'Conversation' }, top(data, page), messages(data, page), composer(data, page)),
        h('div', { class: 'split-side' }, participants(data, page), stack(data, page), variables(data), about(conversation))),
      dialogs(data, page),
    ];
  },
};

function top(data, page) {
  const { conversation } = data;
  return h('header', { class: 'chat-head' },
    h('div', { class: 'row-meta' }, status(conversation.status, { tone: conversation.status === 'OPEN' ? 'good' : 'calm' }), h('span', null, agentLink(conversation.primaryAgent), ' has it'),
      h('span', null, `with ${conversation.userName}`)),
    h('div', { class: 'card-actions' }, actions(data, page)));
}

function about(conversation) {
  return card({ title: 'About' }, facts([
    ['Began', time(conversation.createdAt)],
    ['Closed', conversation.closedAt && time(conversation.closedAt)],
    ['Started by', conversation.createdBy],
    ['User', conversation.userName],
    ['User’s id', conversation.userId],
    ['Id', copyId(conversation.id)],
  ]));
}
