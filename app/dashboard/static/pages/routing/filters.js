// The form that sets the filter. What is set stands in the address, so that a view can be sent to others.

import { h } from '../../dom.js';
import { words } from '../../format.js';
import { button, field } from '../../parts.js';
import { cleared, furtherSet, isFiltered, MODES, OUTCOMES, problemsOf, REASONS, STRATEGIES, TIERS, windowOf, WINDOWS } from './filter.js';

const any = (choices, text = 'Any') => [['', text], ...choices.map((choice) => (Array.isArray(choice) ? choice : [choice, words(choice)]))];

export function filters(page, { agents, models }) {
  const { query } = page;
  const wrong = problemsOf(query);
  const one = (name, label, rest = {}) => field({ label, name: `filter-${name}`, value: query[name] ?? '', error: wrong[name], onchange: (event) => page.setQuery({ [name]: event.target.value.trim() }), ...rest });
  const window = windowOf(query);
  const set = furtherSet(query);
  return h('form', { class: 'filter-form', role: 'search', 'aria-label': 'Decisions', onsubmit: (event) => event.preventDefault() },
    h('div', { class: 'filters' },
      one('window', 'Time', { options: WINDOWS, value: window }),
      window === 'own' && one('from', 'From', { type: 'datetime-local' }),
      window === 'own' && one('until', 'Until', { type: 'datetime-local' }),
      one('agent', 'Agent', { options: any([...agents.map((agent) => [agent.id, agent.name]), ['nobody', 'Nobody']]) }),
      one('words', 'Words of the message', { type: 'search', placeholder: 'churn -"last week"', maxlength: 400 }),
      isFiltered(query) && button('Clear', () => page.setQuery(cleared()), { kind: 'quiet' })),
    h('details', { class: 'further', open: set > 0 },
      h('summary', null, 'More filters', set > 0 && h('span', { class: 'tab-count' }, `${set} set`)),
      h('div', { class: 'filters' },
        one('strategy', 'Strategy', { options: any(STRATEGIES) }),
        one('tier', 'Tier', { options: any(TIERS) }),
        one('model', 'Model', { options: any(known(models, query.model).map((model) => [model, model])) }),
        one('reason', 'Reason', { options: any(REASONS) }),
        one('mode', 'Decided by', { options: any(MODES) }),
        one('fallback', 'Fallback', { options: any([['yes', 'Only fallbacks'], ['no', 'No fallbacks']]) }),
        one('outcome', 'Outcome', { options: any(OUTCOMES) }),
        one('low', 'Confidence from', { inputmode: 'decimal', placeholder: '0' }),
        one('high', 'to', { inputmode: 'decimal', placeholder: '1' }),
        one('conversation', 'Conversation', { placeholder: 'conversation_…', spellcheck: 'false' }))));
}

/** A model that nobody used lately can still stand in the address. */
const known = (models, chosen) => (chosen && !models.includes(chosen) ? [...models, chosen] : models);
