// What a simulation found: flips, who gains and loses, cost and ratings, and examples that lead to their decisions.

import { h } from '../../dom.js';
import { count, cut, money, percent, plural, words } from '../../format.js';
import { agentLink, badge, card, empty, facts, figure, time } from '../../parts.js';
import { to } from '../../router.js';
import { signalTitle } from '../decision/signals.js';
import { stars } from '../routing/charts.js';

export const SIMULATE = `query Simulate($weights: SimulatedWeightsInput, $threshold: Float, $skillFloor: Float, $strategy: RoutingStrategy, $k: Int, $where: RoutingDecisionFilter) {
  simulateRouting(weights: $weights, threshold: $threshold, skillFloor: $skillFloor, strategy: $strategy, k: $k, where: $where, examples: 12) {
    replayed capped leftOut { reason decisions } flips flipShare selectionsChanged fallbacksBefore fallbacksAfter
    agents { agentId name firstBefore firstAfter net selectedBefore selectedAfter }
    cost { before after } ratings { kept { count mean } flipped { count mean } newChoice { count mean } }
    examples { routingDecisionId query createdAt cause signal difference explanation before { agentId name fallback scoreAfter } after { agentId name fallback scoreAfter } }
  }
}`;

const LEFT_OUT = { DIRECT: 'routing was off', MENTION: 'addressed to somebody', ROUTER: 'the gate was off' };

export function results(found) {
  if (found.replayed === 0) return card({}, empty({ icon: 'simulate', title: 'Nothing to replay', text: leftOut(found) || 'No message was routed in this time. Choose a longer history.' }));
  return [summary(found), gains(found), examples(found)];
}

function leftOut(found) {
  return found.leftOut.map(({ reason, decisions }) => `${plural(decisions, 'decision')} left out: ${LEFT_OUT[reason]}`).join('; ');
}

function summary(found) {
  const { cost, ratings } = found;
  const more = Number(cost.after) - Number(cost.before);
  return card({ title: 'What would change', subtitle: [`${plural(found.replayed, 'decision')} replayed`, found.capped && 'older ones left aside', leftOut(found)].filter(Boolean).join('; ') },
    h('div', { class: 'figures simulated' },
      figure(percent(found.flipShare), 'first choices flip', { tone: found.flips ? 'busy' : undefined }),
      figure(count(found.flips), 'flips'),
      figure(count(found.selectionsChanged), 'selections change'),
      figure(`${count(found.fallbacksBefore)} → ${count(found.fallbacksAfter)}`, 'fallbacks', { tone: found.fallbacksAfter > found.fallbacksBefore ? 'wait' : undefined }),
      figure(`${money(cost.before)} → ${money(cost.after)}`, more === 0 ? 'cost' : `cost, ${more > 0 ? '+' : '−'}${money(Math.abs(more))}`, { tone: more > 0 ? 'wait' : more < 0 ? 'good' : undefined })),
    facts([['Rated, first choice stays', rated(ratings.kept)], ['Rated, first choice flips', rated(ratings.flipped)], ['Known of the new choices', rated(ratings.newChoice)]]));
}

const rated = ({ count: number, mean }) => (number ? `${stars(mean)} of 5 (${count(number)})` : 'nothing known');

function gains({ agents, replayed }) {
  const most = Math.max(...agents.map(({ net }) => Math.abs(net)), 1);
  const rows = [...agents].sort((a, b) => b.net - a.net);
  return card({ title: 'Who gains, who loses', subtitle: 'First choices more or fewer' },
    h('ul', { class: 'gains' }, rows.map((agent) => h('li', { key: agent.agentId },
      agentLink({ id: agent.agentId, name: agent.name }),
      h('span', { class: 'gain', 'aria-hidden': 'true' }, h('span', { class: `gain-bar ${agent.net < 0 ? 'tone-bad is-loss' : 'tone-good'}`, style: { width: `${(Math.abs(agent.net) / most) * 50}%` } })),
      h('span', { class: 'gain-text' }, h('strong', null, agent.net > 0 ? `+${count(agent.net)}` : count(agent.net)), h('small', null, `${count(agent.firstBefore)} → ${count(agent.firstAfter)} of ${count(replayed)}`))))));
}

function examples({ examples: flips, flips: all }) {
  if (!flips.length) return card({ title: 'Flips' }, h('p', { class: 'quiet' }, 'Every message would go to the same agent first.'));
  return card({ title: 'Flips', subtitle: all > flips.length ? `The newest ${flips.length} of ${count(all)}` : plural(all, 'decision') },
    h('ul', { class: 'rows' }, flips.map((flip) => h('li', { key: flip.routingDecisionId, class: 'row' },
      h('a', { class: 'row-link row-text', href: to('/routing/:id', { id: flip.routingDecisionId }) }, cut(flip.query, 140)),
      h('span', { class: 'row-meta' }, choice(flip.before), '→', choice(flip.after), badge(flip.signal ? signalTitle(flip.signal) : words(flip.cause)), time(flip.createdAt)),
      h('span', { class: 'quiet flip-why' }, flip.explanation)))));
}

const choice = (one) => h('strong', null, one ? `${one.name}${one.fallback ? ' (fallback)' : ''}` : 'nobody');
