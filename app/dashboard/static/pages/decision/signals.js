// The four signals by which agents are weighed, and a candidate's score made of them.

import { h } from '../../dom.js';
import { words } from '../../format.js';

/** In the order in which they are stacked; `look` is the colour. */
export const SIGNALS = [
  { name: 'skillMatch', title: 'Skill match', short: 'Skill', look: 'tone-accent' },
  { name: 'pastPerformance', title: 'Past performance', short: 'Past', look: 'tone-busy' },
  { name: 'personalityFit', title: 'Personality fit', short: 'Personality', look: 'tone-wait' },
  { name: 'loadBalance', title: 'Load balance', short: 'Load', look: 'tone-calm' },
];

export const signalTitle = (name) => SIGNALS.find((signal) => signal.title === words(name))?.title ?? words(name);

/** What each signal adds to the score, beside each other on a scale from 0 to 1, with a line at the threshold. */
export function scoreBar(candidate, weights, threshold) {
  const told = SIGNALS.map(({ name, title }) => `${title} ${candidate[name].toFixed(2)} times ${weights[name].toFixed(2)}`).join(', ');
  return h('div', { class: 'score', role: 'img', 'aria-label': `Score ${candidate.overall.toFixed(2)}: ${told}. Threshold ${threshold.toFixed(2)}` },
    SIGNALS.map(({ name, title, look }) => h('span', { key: name, class: `score-part ${look}`, title: `${title}: ${candidate[name].toFixed(2)} × ${weights[name].toFixed(2)} = ${(candidate[name] * weights[name]).toFixed(3)}`, style: { width: `${candidate[name] * weights[name] * 100}%` } })),
    h('span', { class: 'score-threshold', style: { left: `${threshold * 100}%` } }));
}

export function signalLegend(weights, threshold) {
  return h('ul', { class: 'legend' },
    SIGNALS.map(({ name, title, look }) => h('li', { key: name }, h('span', { class: `legend-mark ${look}` }), `${title} × ${weights[name].toFixed(2)}`)),
    h('li', { key: 'threshold' }, h('span', { class: 'legend-line' }), `threshold ${threshold.toFixed(2)}`));
}
