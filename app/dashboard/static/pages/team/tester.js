// Tries the rules on a reply: which would fire, and why, clause by clause. Nothing is changed.

import { h } from '../../dom.js';
import { percent, words } from '../../format.js';
import { badge, button, card, field, skeleton, troubled } from '../../parts.js';
import { questionOf } from '../../question.js';

const TRY = `query Try($text: String!, $from: ID!, $previous: ID, $variables: JSON) {
  testHandoffRule(text: $text, fromAgentId: $from, previousAgentId: $previous, variables: $variables) {
    decidedBy toAgentSlug afterWork reason judge values
    rules { ruleId condition holds fired toAgentSlug priority reason clauses { clause kind holds confidence reason } }
  }
}`;

export function tester(data, page) {
  const question = questionOf(page, 'trial');
  const agents = data.agents.nodes.map((agent) => [agent.id, agent.name]);
  const run = (event) => {
    event.preventDefault();
    const { text, from, previous, variables } = Object.fromEntries(new FormData(event.currentTarget));
    const given = parse(variables);
    page.set({ wrongVariables: given === null });
    if (text.trim() && given !== null) question.ask(TRY, { text, from, previous: previous || null, variables: given });
  };
  return card({ title: 'Try them', subtitle: 'What would happen if an agent replied this', class: 'tester' },
    h('form', { class: 'form', onsubmit: run },
      h('div', { class: 'form-pair' },
        field({ label: 'Agent', name: 'from', options: agents }),
        field({ label: 'Before it', name: 'previous', options: [['', 'Nobody'], ...agents] })),
      field({ label: 'Reply', name: 'text', rows: 3, required: true, placeholder: 'The draft is complete.\nword_count: 850', hint: 'Lines such as “word_count: 850” set run-time variables.' }),
      field({ label: 'Variables', name: 'variables', rows: 2, class: 'mono', spellcheck: 'false', placeholder: '{ "confidence_score": 0.7 }', hint: 'As a JSON object; they win over the team’s.', error: page.state.wrongVariables && 'This is no JSON object.' }),
      h('div', { class: 'form-actions' }, button('Try', null, { type: 'submit', kind: 'primary', busy: question.busy }))),
    h('div', { class: 'trial', 'aria-live': 'polite' }, outcome(question)));
}

/** The variables, none when nothing was written, null when it is no object. */
function parse(text) {
  if (!text.trim()) return {};
  try {
    const value = JSON.parse(text);
    return value && typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function outcome({ data, trouble, busy }) {
  if (trouble) return troubled(trouble);
  if (!data) return busy ? skeleton(1) : null;
  const trial = data.testHandoffRule;
  return [
    h('p', { class: 'trial-head' }, trial.toAgentSlug ? badge(`To @${trial.toAgentSlug}`, 'good') : badge(words(trial.afterWork ?? 'nobody'), 'calm'), h('span', null, trial.reason)),
    h('ol', { class: 'rows' }, trial.rules.map((rule) => h('li', { key: rule.ruleId, class: ['row', 'trial-rule', rule.fired && 'is-fired'] },
      h('code', { class: 'condition' }, rule.condition),
      h('span', { class: 'row-meta' }, rule.fired ? badge('Fires', 'good') : truth(rule.holds), rule.holds !== false && h('span', null, rule.reason)),
      h('ul', { class: 'clauses' }, rule.clauses.map((clause, index) => h('li', { key: index }, truth(clause.holds), h('code', null, clause.clause), h('span', { class: 'quiet' }, [words(clause.kind).toLowerCase(), clause.confidence !== null && `${percent(clause.confidence)} sure`, clause.reason].filter(Boolean).join(', ')))))))),
    Object.keys(trial.values).length > 0 && h('details', null, h('summary', { class: 'quiet' }, 'Values that counted'), h('pre', { class: 'code', tabindex: '0' }, JSON.stringify(trial.values, null, 2))),
  ];
}

const truth = (holds) => (holds === null ? badge('Unknown', 'wait') : holds ? badge('Holds', 'good') : badge('Does not hold', 'calm'));
