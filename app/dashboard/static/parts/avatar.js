// An agent's face: initials on a colour that stays the agent's own, everywhere.

import { h } from '../dom.js';
import { to } from '../router.js';

const HUES = 12;

/** One of twelve colours by the agent's id; `hue-N` in the styles has them in both themes. */
export function hue(id) {
  let sum = 0x811c9dc5;
  for (const character of String(id)) sum = Math.imul(sum ^ character.charCodeAt(0), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b);  // ids made together differ in few characters; their colours should not
  return ((sum ^ (sum >>> 13)) >>> 0) % HUES;
}

export function avatar(agent, { size = 'medium' } = {}) {
  const initials = agent.name.trim().slice(0, 2);
  return h('span', { class: `avatar avatar-${size} hue-${hue(agent.id)}`, 'aria-hidden': 'true' }, initials);
}

/** Face and name, as a link to the agent's page. */
export function agentLink(agent, { size = 'small' } = {}) {
  if (!agent) return h('span', { class: 'quiet' }, 'nobody');
  return h('a', { class: 'agent-link', href: to('/agents/:id', { id: agent.id }) }, avatar(agent, { size }), h('span', null, agent.name));
}
