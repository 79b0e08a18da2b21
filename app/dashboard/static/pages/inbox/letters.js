// One message between agents: from whom, for whom, what about, until when it means something.

import { h } from '../../dom.js';
import { cut, plural, words } from '../../format.js';
import { agentLink, badge, button, foldedProse, openDialog, time } from '../../parts.js';
import { to } from '../../router.js';
import { read } from './acts.js';

const TONES = { TASK_REQUEST: 'busy', INFO_REQUEST: 'busy', REVIEW_REQUEST: 'busy', HANDOFF_REQUEST: 'busy', COLLAB_INVITE: 'busy', TASK_RESULT: 'good', INFO_RESPONSE: 'good', REVIEW_RESULT: 'good', FEEDBACK: 'wait' };

/** A message as it lies in an inbox. */
export function entry(one, page) {
  const { message } = one;
  const acts = page.can('MESSAGE_AGENTS') && [
    one.unread && button('Mark as read', () => read(one, page), { kind: 'quiet', busy: page.isBusy(one.id), 'aria-label': `Mark “${message.subject || cut(message.body, 40)}” as read` }),
    button('Answer', () => openDialog(page, 'write', { message, from: page.data.owner }), { kind: 'quiet' }),
  ];
  const state = one.unread ? h('span', { class: 'unread-mark' }, 'Unread') : h('span', { class: 'quiet' }, 'read ', time(one.readAt));
  return shape(message, { unread: one.unread, state, acts });
}

/** A message as the team sees it. */
export function letter(message) {
  return shape(message, { state: message.recipientCount > 1 ? h('span', { class: 'quiet' }, `to ${plural(message.recipientCount, 'agent')}`) : null });
}

function shape(message, { unread = false, state, acts }) {
  return h('li', { key: message.id, class: ['letter', unread && 'is-unread', message.expired && 'is-expired'] },
    h('div', { class: 'row-meta' },
      h('span', { class: 'letter-way' }, agentLink(message.sender), ' → ', message.recipient ? agentLink(message.recipient) : h('code', null, shortChannel(message.channel))),
      badge(words(message.type), TONES[message.type]), state, time(message.sentAt), expiry(message)),
    message.replyTo && h('p', { class: 'quoted quiet' }, `${message.replyTo.sender.name}: ${cut(message.replyTo.subject || message.replyTo.body, 120)}`),
    message.subject && h('p', { class: 'letter-subject' }, message.subject),
    foldedProse(message.body),
    (message.task || acts) && h('div', { class: 'letter-foot' }, message.task ? h('a', { class: 'small', href: to('/tasks/:id', message.task) }, cut(message.task.title, 80)) : h('span'), acts && h('div', { class: 'row-actions' }, acts)));
}

function expiry({ expiresAt, expired }) {
  if (!expiresAt) return null;
  return expired ? badge('Expired', 'bad') : h('span', { class: 'expiry' }, 'means nothing after ', time(expiresAt, { style: 'full' }));
}

const shortChannel = (channel) => channel.replace(/^(\w+):(\w+)_\w*(\w{6})$/, '$1:…$3');
