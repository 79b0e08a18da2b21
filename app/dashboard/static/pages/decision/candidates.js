// Who was weighed for a message, best first, and why one of them was not taken.

import { h } from '../../dom.js';
import { agentLink, badge, button, card, empty, field, skeleton, troubled } from '../../parts.js';
import { scoreBar, signalLegend, SIGNALS, signalTitle } from './signals.js';

export const WHY = `query WhyNot($id: ID!, $agent: ID!) {
  routingDecision(id: $id) { whyNot(agentId: $agent) {
    selected place overall behind costliestSignal explanation signals { signal value chosen weight lost }
  } }
}`;

export function candidates(decision, page) {
  const { nodes } = decision.candidates;
  if (!nodes.length) {
    return card({ title: 'Candidates' }, empty({ icon: 'agent', title: 'Nobody was weighed', text: 'Routing among agents was off, or the message named its agent.' }));
  }
  return card({ title: 'Candidates', subtitle: 'What each signal, times its weight, adds to the score' },
    signalLegend(decision.policy.weights, decision.threshold),
    h('ol', { class: 'candidates' }, nodes.map((candidate) => row(candidate, decision, page))));
}

function row(candidate, decision, page) {
  const { agent } = candidate;
  return h('li', { key: agent.id, class: ['candidate', candidate.selected && 'is-selected'] },
    h('div', { class: 'candidate-head' },
      agentLink(agent), candidate.selected && badge('Selected', 'good'),
      h('strong', { class: 'candidate-score' }, candidate.overall.toFixed(3)),
      !candidate.selected && button('Why not?', () => ask(page, decision, agent.id), { kind: 'quiet', 'aria-label': `Why not ${agent.name}?` })),
    scoreBar(candidate, decision.policy.weights, decision.threshold),
    h('p', { class: 'candidate-signals' }, SIGNALS.map(({ name, short }) => h('span', { key: name }, `${short} `, h('b', null, candidate[name].toFixed(2))))),
    candidate.matchingSkills.length > 0 && h('p', { class: 'candidate-skills' }, candidate.matchingSkills.map((skill) => badge(skill, 'accent'))),
    h('p', { class: 'quiet' }, candidate.explanation));
}

function ask(page, decision, agentId) {
  page.set({ asked: agentId });
  page.question.ask(WHY, { id: decision.id, agent: agentId });
}

/** For any agent of the team: also one that was paused, or came later. */
export function whyNot(decision, agents, page) {
  const { question } = page;
  const chosen = page.state.asked;
  return card({ title: 'Why not …?', class: 'why-not' },
    field({ label: 'Agent', name: 'why-not', value: chosen ?? '', options: [['', 'Choose an agent'], ...agents.map((agent) => [agent.id, agent.name])], onchange: (event) => event.target.value && ask(page, decision, event.target.value) }),
    chosen && h('div', { class: 'answer', 'aria-live': 'polite', 'aria-busy': String(question.busy) }, answer(question)));
}

function answer({ data, trouble, busy }) {
  if (trouble) return troubled(trouble);
  if (!data || busy) return skeleton(1);
  const why = data.routingDecision?.whyNot;
  if (!why) return h('p', null, 'This decision is gone.');
  return [
    h('p', null, why.explanation),
    why.signals.length > 0 && h('div', { class: 'table-frame', tabindex: '0', role: 'region', 'aria-label': 'Signals compared' }, h('table', { class: 'plain-table' },
      h('thead', null, h('tr', null, ['Signal', 'Its', 'First’s', 'Weight', 'Lost'].map((name, index) => h('th', { key: name, scope: 'col', class: index > 0 && 'end' }, name)))),
      h('tbody', null, why.signals.map((gap) => h('tr', { key: gap.signal, class: gap.signal === why.costliestSignal && 'is-costliest' },
        h('th', { scope: 'row' }, signalTitle(gap.signal)), number(gap.value), number(gap.chosen), number(gap.weight), number(gap.lost, true)))))),
    why.behind !== null && h('p', { class: 'quiet' }, why.behind > 0 ? `${why.behind.toFixed(3)} behind the first choice, place ${why.place}.` : `Place ${why.place}.`),
  ];
}

const number = (value, signed = false) => h('td', { class: 'end' }, value === null ? '–' : `${signed && value > 0 ? '+' : ''}${value.toFixed(signed ? 3 : 2)}`);
