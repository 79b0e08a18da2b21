// What was said: one entry for each message, with why this agent answered, what stands behind it, and what followed.

import { h } from '../../dom.js';
import { cut, money, percent, words } from '../../format.js';
import { agentLink, avatar, button, foldedRich, followEnd, iconButton, prose, rich, scrollToEnd, status, time } from '../../parts.js';
import { to } from '../../router.js';
import { contributions } from './contributions.js';
import { loadEarlier, speaking } from './flow.js';

const REASONS = { USER_MENTION: 'Asked for by name', SKILL_MATCH: 'Fits best', DEFAULT: 'Answers by default', HANDOFF: 'Takes over the conversation' };

export function messages(data, page) {
  const { nodes, pageInfo } = data.conversation.messages;
  const behind = new Map(nodes.filter(({ reply }) => reply?.answer).map(({ reply }) => [reply.answer.id, reply]));
  return h('div', { class: 'chat-frame' },
    h('div', { class: 'chat-pane', role: 'log', 'aria-label': 'Messages', 'aria-live': 'polite', tabindex: '0', mount: followEnd((atEnd) => page.set({ atEnd })) },
      pageInfo.hasPreviousPage && h('p', { class: 'chat-earlier', key: 'earlier' }, button('Earlier messages', () => loadEarlier(page), { kind: 'quiet', busy: page.isBusy('earlier') })),
      !nodes.length && h('p', { class: 'chat-earlier quiet', key: 'none' }, `Nothing said yet. ${data.conversation.primaryAgent.name} has the conversation.`),
      nodes.map((message) => entry(message, behind.get(message.id), page)),
      speaking(data).map((reply) => running(reply, page))),
    !page.state.atEnd && h('div', { class: 'chat-jump' }, button('To the newest', () => scrollToEnd(document.querySelector('.chat-pane')), { icon: 'arrow' })));
}

function entry(message, reply, page) {
  if (message.author === 'SYSTEM') return announcement(message);
  const user = message.author === 'USER';
  return h('article', { key: message.id, class: ['utterance', user && 'is-user'], 'aria-label': `${message.authorName}, message ${message.number}` },
    user ? h('span', { class: 'avatar avatar-medium user-avatar', 'aria-hidden': 'true' }, message.authorName.slice(0, 2)) : avatar(message.agent),
    h('div', { class: 'said-body' },
      h('header', null, user ? h('strong', null, message.authorName) : h('a', { class: 'said-name', href: to('/agents/:id', message.agent) }, message.agent.name), time(message.createdAt),
        Number(message.cost) > 0 && h('span', { class: 'quiet' }, money(message.cost)),
        message.task && h('a', { class: 'quiet', href: to('/tasks/:id', message.task) }, 'its work')),
      user ? prose(message.text) : foldedRich(message.text),
      message.artifacts.length > 0 && h('ul', { class: 'bullets small' }, message.artifacts.map((artifact) => h('li', { key: artifact }, h('code', null, artifact)))),
      !user && why(message),
      !user && reply && contributions(reply, page),
      message.nextStep && nextStep(message.nextStep),
      user && unanswered(message)));
}

function announcement(message) {
  return h('p', { key: message.id, class: 'announced' }, h('span', null, message.text), ' ', time(message.createdAt));
}

/** The first sentence of the decision, as a link to all of it. */
function why({ routingDecision: decision, agent }) {
  if (!decision) return null;
  const told = decision.reason === 'SKILL_MATCH' ? ` (${percent(decision.confidence)})` : '';
  return h('p', { class: 'why' }, h('a', { href: to('/routing/:id', decision), title: decision.explanation }, `Why ${agent.name}?`), ` ${REASONS[decision.reason] ?? words(decision.reason)}${told}. `,
    h('span', { class: 'quiet' }, cut(decision.explanation.split('\n')[0], 160)), decision.warning && h('span', { class: 'error-text' }, ` ${decision.warning}`));
}

function nextStep(step) {
  const then = step.toAgent ? ['Then to ', agentLink(step.toAgent)] : [{ CONTINUE: 'Then it went on by itself', RETURN_TO_USER: 'Then the user had the word', TERMINATE: 'Then the conversation was closed' }[step.afterWork] ?? 'Then'];
  return h('details', { class: 'step' }, h('summary', null, then, h('span', { class: 'quiet' }, ` · by ${{ RULE: 'a rule', ANALYSIS: 'what it said', AFTER_WORK: 'the team’s habit' }[step.decidedBy]}`)),
    h('p', { class: 'small' }, step.reason), step.rule && h('p', { class: 'small' }, 'Rule: ', h('code', null, step.rule.condition)));
}

function unanswered({ reply }) {
  if (!reply || !['FAILED', 'CANCELLED'].includes(reply.status)) return null;
  return h('p', { class: 'why' }, status(reply.status, { text: reply.status === 'FAILED' ? 'Not answered' : 'Stopped' }), ` ${reply.error ?? ''}`);
}

/** Somebody is about to answer: who, and what they have said so far. */
function running(reply, page) {
  const stop = page.can('MANAGE_CONVERSATIONS') && iconButton('Stop this answer', 'close', () => page.set({ dialog: { name: 'stop', about: { reply }, trouble: null } }));
  if (reply.status === 'PENDING') return h('p', { key: reply.id, class: 'announced' }, `Message ${reply.number} waits for its turn. `, stop);
  const working = reply.contributions.nodes.filter(({ status: state }) => state === 'RUNNING' || state === 'WAITING');
  return h('div', { key: reply.id, class: 'speaking' }, working.map(({ id, agent }) => h('article', { key: id, class: 'utterance is-partial', 'aria-label': `${agent.name} is answering` },
    avatar(agent),
    h('div', { class: 'said-body' },
      h('header', null, h('strong', null, agent.name), status('RUNNING', { text: reply.texts.has(agent.id) ? 'writing' : 'thinking' }), stop),
      reply.texts.has(agent.id) ? rich(reply.texts.get(agent.id)) : h('p', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'))))));
}
