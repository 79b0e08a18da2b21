// One routing decision: who was weighed, by what, who was taken and why, and what became of it.

import { h } from '../dom.js';
import { cut, duration, money, words } from '../format.js';
import { agentLink, badge, bar, button, card, copyId, empty, facts, foldedProse, linkButton, status, time } from '../parts.js';
import { endQuestions, questionOf } from '../question.js';
import { to } from '../router.js';
import { overrideDialog, rateDialog } from './decision/acts.js';
import { candidates, whyNot } from './decision/candidates.js';
import { RATINGS, ratings } from './decision/ratings.js';
import { SIGNALS } from './decision/signals.js';
import { ms, stars } from './routing/charts.js';

const QUERY = `query Decision($id: ID!) {
  agents(first: 100, orderBy: [{ field: NAME }]) { nodes { id name status } }
  routingDecision(id: $id) {
    id query createdAt mode reason strategy askedStrategy k threshold skillFloor confidence fallbackUsed ensembleAllowed
    explanation warning conversationId embedder
    complexity { overall length steps constraints reasoning technicalDepth }
    suggestedTier tier tierOverrideReason model estimatedCost actualCost routerLatencyMs gateLatencyMs responseSeconds outcome rating
    currentAgent { id name } selectedAgent { id name } selectedAgents { id name }
    policy { id version weights { ${SIGNALS.map(({ name }) => name).join(' ')} } }
    candidates(first: 100, orderBy: [{ field: PLACE }]) { totalCount nodes {
      place overall selected matchingSkills explanation ${SIGNALS.map(({ name }) => name).join(' ')} agent { id name }
    } }
    ${RATINGS}
    overrides(last: 10) { nodes { createdAt overriddenBy reason agent { id name } } }
  }
}`;

const STREAM = `subscription Decision($after: Cursor) {
  routingEvents(after: $after) { __typename ... on Event { cursor changes } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

const DIMENSIONS = [['Length', 'length'], ['Steps', 'steps'], ['Constraints', 'constraints'], ['Reasoning', 'reasoning'], ['Technical depth', 'technicalDepth']];

export default {
  name: 'decision',
  path: '/routing/:id',
  title: (data) => (data?.routingDecision ? cut(data.routingDecision.query, 60) : 'Decision'),
  under: '/routing',
  needs: 'READ_TEAM',
  state: { asked: null, dialog: null, trouble: null },

  data: ({ can, params }) => ({
    query: QUERY,
    variables: { id: params.id },
    stream: can('READ_EVENTS') ? STREAM : null,
    reloads: (event) => event.changes.routingDecisionId === params.id,
  }),

  view({ routingDecision: decision, agents }, page) {
    if (!decision) return empty({ icon: 'routing', title: 'There is no such decision', text: 'It may belong to another team, or be older than what is kept.', action: linkButton('All decisions', to('/routing')) });
    page.question = questionOf(page, 'why not');
    return h('div', { class: 'two-columns' },
      h('div', { class: 'column' }, message(decision, page), candidates(decision, page)),
      h('div', { class: 'column' }, outcome(decision), ratings(decision), decision.candidates.nodes.length > 0 && whyNot(decision, agents.nodes, page), complexity(decision), circumstances(decision)),
      page.state.dialog === 'override' && overrideDialog(decision, agents.nodes, page),
      page.state.dialog === 'rate' && rateDialog(decision, page));
  },

  leave: endQuestions,
};

function message(decision, page) {
  const last = decision.overrides.nodes.at(-1);
  const actions = [
    page.can('RATE_RESPONSES') && decision.selectedAgent && button('Rate', () => page.set({ dialog: 'rate' })),
    page.can('ANSWER_ATTENTION') && button('Override', () => page.set({ dialog: 'override' })),
  ];
  return card({ title: 'Message', actions },
    foldedProse(decision.query),
    h('div', { class: 'chosen' },
      decision.selectedAgents.length ? decision.selectedAgents.map((agent) => h('span', { key: agent.id }, agentLink(agent, { size: 'medium' }))) : h('strong', null, 'Nobody could answer'),
      decision.fallbackUsed ? badge('Fallback', 'wait') : badge(words(decision.reason), 'good')),
    h('p', null, decision.explanation),
    decision.warning && h('p', { class: 'notice tone-wait' }, decision.warning),
    last && h('p', { class: 'notice tone-busy' }, h('strong', null, last.overriddenBy), ' chose ', agentLink(last.agent), ` instead: ${last.reason} (`, time(last.createdAt), ')'));
}

function outcome(decision) {
  return card({ title: 'What became of it' }, facts([
    ['Outcome', decision.outcome ? status(decision.outcome) : 'not told yet'],
    ['Rating', decision.rating === null ? 'nobody rated' : `${stars(decision.rating)} of 5`],
    ['Confidence', decision.confidence.toFixed(3)],
    ['Time to decide', decision.gateLatencyMs === null ? ms(decision.routerLatencyMs) : `${ms(decision.routerLatencyMs)}, gate ${ms(decision.gateLatencyMs)}`],
    ['Time to answer', duration(decision.responseSeconds)],
    ['Cost', decision.actualCost === null ? 'not told yet' : money(decision.actualCost)],
    ['Estimated', money(decision.estimatedCost)],
    ['Model', `${decision.model}, tier ${decision.tier}`],
  ]));
}

function complexity(decision) {
  const other = decision.tier !== decision.suggestedTier;
  return card({ title: 'Complexity', subtitle: `${decision.complexity.overall.toFixed(1)} of 10 suggests tier ${decision.suggestedTier}` },
    h('div', { class: 'bars' }, DIMENSIONS.map(([title, name]) => h('div', { key: name }, bar(decision.complexity[name] / 10, { label: title, value: decision.complexity[name].toFixed(1), tone: 'busy' })))),
    other && h('p', { class: 'notice tone-wait tier-note' }, `Tier ${decision.tier} was taken: ${decision.tierOverrideReason ?? 'no reason was given'}`));
}

function circumstances(decision) {
  return card({ title: 'Circumstances' }, facts([
    ['Decided', time(decision.createdAt, { style: 'full' })],
    ['By', words(decision.mode)],
    ['Strategy', decision.askedStrategy === decision.strategy ? words(decision.strategy) : `${words(decision.strategy)}, asked for ${words(decision.askedStrategy)}`],
    ['Threshold', decision.threshold.toFixed(2)],
    ['Skill floor', decision.skillFloor.toFixed(2)],
    ['k', String(decision.k)],
    ['Policy', h('a', { href: to('/team', {}, { tab: 'policy' }) }, `version ${decision.policy.version}`)],
    ['Had it before', decision.currentAgent && agentLink(decision.currentAgent)],
    ['Conversation', decision.conversationId && h('a', { href: to('/conversations/:id', { id: decision.conversationId }) }, 'open it')],
    ['Id', copyId(decision.id)],
  ]));
}
