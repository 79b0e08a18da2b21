// Beside the messages: who takes part, to whom the conversation comes back, and what is known in it.

import { h } from '../../dom.js';
import { cut, words } from '../../format.js';
import { agentLink, badge, button, card, countdown, iconButton, openDialog, status, time } from '../../parts.js';
import { lookThrough } from './context.js';

const ROLES = { PRIMARY: ['has it', 'accent'], HANDOFF_SOURCE: ['handed it over', 'calm'], INVITED: ['takes part', 'calm'] };
export const POLICIES = { CALLER: 'back to who handed it over', ORCHESTRATOR: 'to the team’s default agent', HUMAN: 'to a person', NONE: 'it stays there' };

export function participants(data, page) {
  const { conversation } = data;
  const manage = page.can('MANAGE_CONVERSATIONS') && conversation.status === 'OPEN';
  return card({ title: 'Takes part', actions: manage && button('Add', () => openDialog(page, 'add'), { kind: 'quiet' }) },
    h('ul', { class: 'rows' }, conversation.participants.nodes.map((one) => h('li', { key: one.id, class: 'row person-row' },
      h('div', { class: 'row-meta' }, agentLink(one.agent), badge(...ROLES[one.role]), one.agent.status !== 'ACTIVE' && status(one.agent.status)),
      h('div', { class: 'row-actions' },
        conversation.messageCount > 0 && (!page.viewer.agent || page.viewer.agent.id === one.agent.id) && button('What it sees', () => lookThrough(one.agent, page), { kind: 'quiet', 'aria-label': `What ${one.agent.name} sees` }),
        manage && one.role !== 'PRIMARY' && iconButton(`Remove ${one.agent.name}`, 'close', () => openDialog(page, 'remove', { agent: one.agent })))))));
}

export function stack(data, page) {
  const { handoffStack, handoffs, status: state } = data.conversation;
  const open = state === 'OPEN';
  const ended = handoffs.nodes.filter(({ endedAt }) => endedAt).reverse();
  if (!handoffStack.length && !ended.length) return null;
  return card({ title: 'Handoffs', subtitle: handoffStack.length ? 'The last one comes back first' : 'None is open' },
    h('ol', { class: 'handoff-stack' }, handoffStack.map((handoff, index) => h('li', { key: handoff.id, class: index === handoffStack.length - 1 && 'is-top' },
      h('p', null, agentLink(handoff.fromAgent), ' → ', agentLink(handoff.toAgent)),
      h('p', { class: 'small' }, cut(handoff.reason, 200)),
      h('p', { class: 'row-meta' }, h('span', null, 'Then ', POLICIES[handoff.returnPolicy]), handoff.deadline && h('span', null, 'at the latest ', countdown(handoff.deadline, page.redraw))),
      handoff.summary && h('details', { class: 'step' }, h('summary', null, 'What was passed on'), h('p', { class: 'prose small' }, handoff.summary)),
      open && page.can('ANSWER_ATTENTION') && button('Redirect', () => openDialog(page, 'redirect', { handoff }), { kind: 'quiet' })))),
    ended.length > 0 && h('details', { class: 'step' }, h('summary', null, 'Ended'), h('ul', { class: 'rows' }, ended.map((handoff) => h('li', { key: handoff.id, class: 'row' },
      h('p', { class: 'row-meta' }, agentLink(handoff.fromAgent), '→', agentLink(handoff.toAgent), status(handoff.outcome, { tone: handoff.outcome === 'RETURNED' ? 'good' : 'wait' }), time(handoff.endedAt)),
      handoff.outcomeReason && h('p', { class: 'small quiet' }, cut(handoff.outcomeReason, 160)))))));
}

export function variables({ conversation }) {
  const newest = new Map(conversation.variables.nodes.map((one) => [one.name, one]));
  if (!newest.size) return null;
  return card({ title: 'Variables' }, h('ul', { class: 'rows' }, [...newest.values()].map((one) => h('li', { key: one.name, class: 'row' },
    h('p', null, h('code', null, one.name), ' = ', h('code', null, cut(JSON.stringify(one.value), 120))),
    h('p', { class: 'row-meta' }, words(one.source), one.setBy, time(one.createdAt))))));
}
