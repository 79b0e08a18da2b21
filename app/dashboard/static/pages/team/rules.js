// Handoff rules: when a conversation passes from one agent to another. Wrong conditions are shown with the place marked.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { plural, words } from '../../format.js';
import { agentLink, button, card, checkbox, empty, field, formDialog, more } from '../../parts.js';
import { tester } from './tester.js';

const RULE = 'HandoffRulePayload { rule { id } }';
const SAVE = mutation('saveHandoffRule', 'SaveHandoffRuleInput', RULE, 'InvalidCondition { problems { message line column offset length expected } }');
const DELETE = mutation('deleteHandoffRule', 'DeleteHandoffRuleInput', RULE);
const PREVIOUS = 'previous';
const isCondition = (trouble) => trouble.code === 'INVALID_CONDITION';

export function rules(data, page) {
  const { nodes, totalCount } = data.team.handoffRules;
  const may = page.can('CONFIGURE_TEAM');
  return [
    h('div', { class: 'two-columns' },
      card({
        title: 'Handoff rules',
        subtitle: nodes.length ? `${plural(totalCount, 'rule')}, the highest priority is tried first. If none fires: ${words(data.team.afterWork).toLowerCase()}` : undefined,
        actions: may && button('New rule', () => page.set({ dialog: 'rule', draft: null, trouble: null }), { kind: 'primary' }),
      }, nodes.length ? [h('ul', { class: 'rows' }, nodes.map((rule) => row(rule, page, may))), more(page, 'team.handoffRules', 'rules')] : nothing(may)),
      h('div', { class: 'column' }, tester(data, page))),
    page.state.dialog === 'rule' && ruleDialog(page.state.draft, data, page),
    page.state.dialog === 'drop rule' && dropDialog(page.state.draft, page),
  ];
}

const nothing = (may) => empty({ icon: 'routing', title: 'No rules yet', text: may ? 'A rule such as “draft complete and word_count >= 800” hands a conversation over by itself.' : 'An admin writes them. Until then agents keep a conversation unless routing or a person passes it on.' });

function row(rule, page, may) {
  const open = (dialog) => () => page.set({ dialog, draft: rule, trouble: null });
  return h('li', { key: rule.id, class: 'row rule' },
    h('div', null,
      h('code', { class: 'condition' }, rule.condition),
      h('span', { class: 'row-meta' }, rule.fromAgent ? agentLink(rule.fromAgent) : h('span', null, 'any agent'), h('span', null, '→'), rule.toAgent ? agentLink(rule.toAgent) : h('span', null, 'the previous agent'), h('span', null, `priority ${rule.priority}`), h('span', null, `version ${rule.version}`))),
    may && h('div', { class: 'row-acts' }, button('Change', open('rule'), { kind: 'quiet', 'aria-label': `Change the rule ${rule.condition}` }), button('Delete', open('drop rule'), { kind: 'quiet', 'aria-label': `Delete the rule ${rule.condition}` })));
}

function ruleDialog(rule, data, page) {
  const agents = data.agents.nodes.map((agent) => [agent.id, agent.name]);
  const input = ({ condition, fromAgentId, to, priority, trustsText }) => ({
    ruleId: rule?.id ?? null, condition, priority: Number(priority), trustsText, fromAgentId: fromAgentId || null,
    ...(to === PREVIOUS ? { target: 'PREVIOUS_AGENT' } : { target: 'AGENT', toAgentId: to }),
  });
  return formDialog(page, { title: rule ? 'Change the rule' : 'New rule', change: SAVE, input, submit: 'Save', done: 'The rule decides from now on', wide: true, covers: isCondition }, (trouble) => {
    const wrong = trouble && isCondition(trouble) ? trouble.problems : [];
    const error = (path) => (wrong.length ? undefined : trouble?.problem(path));
    const keep = (event) => { page.state.condition = event.target.value; };
    return [
      h('div', { class: 'form-pair' },
        field({ label: 'When this agent has replied', name: 'fromAgentId', value: rule?.fromAgent?.id ?? '', options: [['', 'Any agent'], ...agents], error: error('fromAgentId') }),
        field({ label: 'hand over to', name: 'to', value: rule && !rule.toAgent ? PREVIOUS : rule?.toAgent?.id ?? agents[0]?.[0], options: [...agents, [PREVIOUS, 'The previous agent']], error: error('toAgentId') }),
        field({ label: 'Priority', name: 'priority', type: 'number', min: 1, max: 1000, value: rule?.priority ?? 1, required: true, hint: 'Higher fires first.', error: error('priority') })),
      field({ label: 'if', name: 'condition', rows: 3, required: true, maxlength: 2000, value: rule?.condition ?? '', spellcheck: 'false', class: 'mono', error: wrong.length ? 'This cannot be read as it stands:' : error('condition'), oninput: keep, hint: 'Comparisons, and, or, not, parentheses, {{ variables }} and plain language: draft complete and word_count >= {{ min_words }}' }),
      checkbox({ label: 'Trust values in replies', name: 'trustsText', checked: rule?.trustsText ?? false, hint: 'Compares also with values that were only read in a reply’s text, such as “word_count: 900”.' }),
      wrong.length > 0 && marked(page.state.condition ?? rule?.condition ?? '', wrong),
    ];
  });
}

/** The condition with what is wrong marked in it. Places count characters, as people do. */
export function marked(text, problems) {
  const characters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const problem of [...problems].sort((a, b) => a.offset - b.offset)) {
    if (problem.offset < at) continue;
    const end = Math.max(problem.offset + problem.length, problem.offset);
    parts.push(characters.slice(at, problem.offset).join(''), h('mark', { key: problem.offset, title: problem.message }, characters.slice(problem.offset, end).join('') || '\u00a0'));
    at = end;
  }
  parts.push(characters.slice(at).join(''));
  return h('div', { class: 'marked', role: 'alert' },
    h('pre', { class: 'code' }, parts),
    h('ul', null, problems.map((problem) => h('li', { key: `${problem.offset} ${problem.message}` }, `Line ${problem.line}, column ${problem.column}: ${problem.message}`, problem.expected.length > 0 && h('span', { class: 'quiet' }, ` Expected: ${problem.expected.join(', ')}.`)))));
}

function dropDialog(rule, page) {
  return formDialog(page, { title: 'Delete this rule?', change: DELETE, input: () => ({ ruleId: rule.id }), submit: 'Delete', kind: 'danger', done: 'The rule no longer decides' }, () => [
    h('pre', { class: 'code' }, rule.condition), h('p', { class: 'quiet' }, 'Decisions that it made keep it.'),
  ]);
}
