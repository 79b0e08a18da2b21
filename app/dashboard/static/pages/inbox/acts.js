// Acknowledge messages, and write some: to one agent, to a channel, or to everybody.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { cut, words } from '../../format.js';
import { actionDialog, agentChoices, field } from '../../parts.js';
import { TYPES } from './query.js';

const READ = mutation('acknowledgeInbox', 'AcknowledgeInboxInput', 'AcknowledgeInboxPayload { acknowledged unreadCount }');
const SENT = 'AgentMessagePayload { agentMessage { id recipientCount } }';
const SEND = mutation('sendAgentMessage', 'SendAgentMessageInput', SENT, 'InboxFull { agents limit }');
const BROADCAST = mutation('broadcastAgentMessage', 'BroadcastAgentMessageInput', SENT, 'InboxFull { agents limit }');
const EVERYBODY = 'everybody';

export const read = (entry, page) => page.act(READ, { agentId: page.data.owner.id, messageIds: [entry.message.id] }, { name: entry.id });

/** Through the newest that is shown: what came after it stays unread. */
export function readAll(data, page) {
  const newest = data.owner.inbox.nodes.reduce((last, one) => (one.receivedAt > last.receivedAt ? one : last));
  return page.act(READ, { agentId: data.owner.id, through: newest.cursor }, { done: 'All read', name: 'read all' });
}

export function dialogs(data, page) {
  if (page.state.dialog?.name !== 'write') return null;
  const { message, from } = page.state.dialog.about;
  return message ? answerDialog(message, from, page) : writeDialog(data, page);
}

const type = (problem, value) => field({ label: 'Type', name: 'type', options: TYPES.map((one) => [one, words(one)]), value, error: problem('type') });
const texts = (problem, subject = '') => [
  field({ label: 'Subject', name: 'subject', maxlength: 200, value: subject, error: problem('subject') }),
  field({ label: 'Message', name: 'body', rows: 5, required: true, maxlength: 20_000, error: problem('body') }),
  field({ label: 'Means nothing after', name: 'expires', type: 'datetime-local', hint: 'Left out: it never expires.', error: problem('expiresAt') }),
];
const common = ({ type: kind, subject, body, expires }) => ({ type: kind, subject, body, expiresAt: expires ? new Date(expires).toISOString() : null });

function writeDialog(data, page) {
  const own = page.viewer.agent;
  const agents = agentChoices(data, { paused: true });
  const all = page.state.dialog.all ?? false;
  const senders = own ? [[own.id, own.name]] : agentChoices(data);
  const another = (choices, than) => choices.find(([id]) => id !== than)?.[0];
  const to = page.query.agent ?? another(agents, senders[0]?.[0]);
  const target = (event) => page.set({ dialog: { ...page.state.dialog, all: event.target.value === EVERYBODY } });
  return actionDialog(page, {
    title: 'Write to agents', submit: all ? 'Send to everybody' : 'Send', change: all ? BROADCAST : SEND, done: 'Sent',
    input: ({ from, target: whom, ...values }) => ({ fromAgentId: from, ...common(values), ...(all ? {} : { toAgentId: whom }) }),
  }, (problem) => [
    h('div', { class: 'field-pair', key: 'way' },
      field({ label: 'In the name of', name: 'from', required: true, options: senders, value: another(senders, to), error: problem('fromAgentId') }),
      field({ label: 'To', name: 'target', required: true, options: [...agents, [EVERYBODY, 'Everybody in the team']], value: all ? EVERYBODY : to, onchange: target, error: problem('toAgentId') })),
    type(problem, 'NOTIFICATION'), ...texts(problem),
  ]);
}

const ANSWERS = { TASK_REQUEST: 'TASK_STATUS', INFO_REQUEST: 'INFO_RESPONSE', REVIEW_REQUEST: 'REVIEW_RESULT' };

function answerDialog(message, from, page) {
  return actionDialog(page, {
    title: `Answer ${message.sender.name}`, lead: `In the name of ${from.name}, to “${cut(message.subject || message.body, 80)}”`, submit: 'Send', change: SEND, done: 'Sent',
    input: (values) => ({ fromAgentId: from.id, toAgentId: message.sender.id, replyToId: message.id, ...common(values) }),
  }, (problem) => [type(problem, ANSWERS[message.type] ?? 'NOTIFICATION'), ...texts(problem, message.subject ? cut(`Re: ${message.subject.replace(/^Re: /, '')}`, 200) : '')]);
}
