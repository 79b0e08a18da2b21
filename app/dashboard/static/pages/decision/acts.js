// What people do about a decision: choose another agent, or rate the answer.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { field, formDialog } from '../../parts.js';

const OVERRIDE = mutation('overrideRouting', 'OverrideRoutingInput', 'RoutingDecisionPayload { routingDecision { id } }');
const RATE = mutation('rateResponse', 'RateResponseInput', 'RoutingDecisionPayload { routingDecision { id rating } }');
const STARS = [[5, 'Excellent'], [4, 'Good'], [3, 'Passable'], [2, 'Poor'], [1, 'Useless']];

export function overrideDialog(decision, agents, page) {
  const choices = agents.filter((agent) => agent.status === 'ACTIVE' && agent.id !== decision.selectedAgent?.id);
  const input = ({ agentId, reason }) => ({ routingDecisionId: decision.id, agentId, reason });
  return formDialog(page, { title: 'Let another agent answer', change: OVERRIDE, input, submit: 'Override', done: 'Another agent answers' }, (trouble) => [
    field({ label: 'Agent', name: 'agentId', options: choices.map((agent) => [agent.id, agent.name]), error: trouble?.problem('agentId'), hint: 'Only active agents.' }),
    field({ label: 'Why', name: 'reason', rows: 3, required: true, maxlength: 400, error: trouble?.problem('reason'), hint: 'The event says it, and routing learns from it.' }),
  ]);
}

export function rateDialog(decision, page) {
  const input = ({ stars, agentId, comment }) => ({ routingDecisionId: decision.id, stars: Number(stars), agentId: agentId ?? null, comment });
  return formDialog(page, { title: 'Rate the answer', change: RATE, input, submit: 'Rate', done: 'Rated' }, (trouble) => [
    h('fieldset', { class: 'stars' }, h('legend', null, 'How good was it?'), STARS.map(([value, text]) =>
      h('label', { key: value, class: 'check' }, h('input', { type: 'radio', name: 'stars', value, required: true, checked: value === 5 }), h('span', null, `${'★'.repeat(value)}${'☆'.repeat(5 - value)}`, h('small', null, text))))),
    decision.selectedAgents.length > 1 && field({ label: 'Whose answer', name: 'agentId', options: decision.selectedAgents.map((agent) => [agent.id, agent.name]) }),
    field({ label: 'Comment', name: 'comment', rows: 3, maxlength: 2000, error: trouble?.problem('comment') }),
  ]);
}
