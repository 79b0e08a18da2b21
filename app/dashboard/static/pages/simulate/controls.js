// The sliders of a simulation.

import { h } from '../../dom.js';
import { words } from '../../format.js';
import { button, card, field, slider } from '../../parts.js';
import { SIGNALS } from '../decision/signals.js';
import { STRATEGIES } from '../routing/filter.js';
import { isChanged, reweighted, settingsOf } from './settings.js';

const HISTORY = [['-P7D', 'The last 7 days'], ['-P30D', 'The last 30 days'], ['-P90D', 'The last 90 days'], ['all', 'All decisions']];

/** `change(settings)` is called while a slider moves, `settle()` when it is let go. Each starts from the settings of its moment: two changes may come before one drawing. */
export function controls(page, policy, { change, settle }) {
  const { settings, history } = page.state;
  const alter = (changes) => change({ ...page.state.settings, ...changes });
  const move = (name) => (event) => alter({ [name]: Number(event.target.value) });
  const weigh = (name) => (event) => alter({ weights: reweighted(page.state.settings.weights, name, Number(event.target.value)) });
  return card({ title: 'What if …', actions: isChanged(settings, policy) && button('Back to the policy', () => { change(settingsOf(policy)); settle(); }, { kind: 'quiet' }) },
    h('div', { class: 'form' },
      SIGNALS.map(({ name, title }) => slider({ label: title, name: `weight-${name}`, value: settings.weights[name], step: 0.01, shown: against(settings.weights[name], policy.weights[name]), oninput: weigh(name), onchange: settle })),
      h('p', { class: 'field-hint' }, 'The weights always sum to 1: the others share the rest.'),
      slider({ label: 'Threshold', name: 'threshold', value: settings.threshold, step: 0.01, shown: against(settings.threshold, policy.threshold), hint: 'Score from which an agent is taken.', oninput: move('threshold'), onchange: settle }),
      slider({ label: 'Skill floor', name: 'skillFloor', value: settings.skillFloor, step: 0.01, shown: against(settings.skillFloor, policy.skillFloor), hint: 'Skill match from which an agent is taken, whatever its score.', oninput: move('skillFloor'), onchange: settle }),
      h('div', { class: 'filters' },
        field({ label: 'Strategy', name: 'strategy', value: settings.strategy, options: STRATEGIES.map((one) => [one, words(one)]), onchange: (event) => { alter({ strategy: event.target.value }); settle(); } }),
        field({ label: 'k', name: 'k', type: 'number', min: 1, max: 20, value: settings.k, disabled: settings.strategy !== 'TOP_K', onchange: (event) => { alter({ k: Math.max(1, Math.min(20, Math.round(Number(event.target.value)) || 1)) }); settle(); } }),
        field({ label: 'History', name: 'history', value: history, options: HISTORY, onchange: (event) => { page.set({ history: event.target.value }); settle(); } }))));
}

function against(value, now) {
  return value === now ? value.toFixed(2) : [value.toFixed(2), h('span', { class: 'quiet' }, ` was ${now.toFixed(2)}`)];
}
