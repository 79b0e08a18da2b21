// A state in a word, with a colour that repeats it and never says it alone.

import { h } from '../dom.js';
import { words } from '../format.js';

const TONES = {
  ACTIVE: 'good', COMPLETED: 'good', APPROVED: 'good', ANSWERED: 'good', LIVE: 'good', DELIVERED: 'good',
  IN_PROGRESS: 'busy', PLANNING: 'busy', SYNTHESIZING: 'busy', RUNNING: 'busy', GENERATING: 'busy',
  PENDING: 'wait', OPEN: 'wait', PAUSED: 'wait', WAITING: 'wait', QUEUED: 'wait', UNREAD: 'wait',
  FAILED: 'bad', TIMED_OUT: 'bad', REFUSED: 'bad', INVALID: 'bad', EXPIRED: 'bad', REVOKED: 'bad',
};

export function badge(text, tone = 'calm') {
  return h('span', { class: `badge tone-${tone}` }, text);
}

/** Small print beside each other: texts, badges and links; what is false or null is left out. */
export function meta(...parts) {
  return h('p', { class: 'row-meta' }, parts.filter((part) => part || part === 0).map((part) => (typeof part === 'object' ? part : h('span', null, part))));
}

/** A session's status: while agents work, it is busy. */
export const sessionStatus = (name) => status(name, name === 'ACTIVE' ? { tone: 'busy' } : {});

/** A status of the API as a badge: status('IN_PROGRESS'). A busy one breathes. */
export function status(name, { text = words(name), tone = TONES[name] ?? 'calm' } = {}) {
  return h('span', { class: `badge status tone-${tone}` }, h('span', { class: 'dot', 'aria-hidden': 'true' }), text);
}
