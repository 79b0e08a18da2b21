// The team's variables, which handoff rules compare with: values of its own, and names that replies or callers set.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { button, card, formDialog, iconButton } from '../../parts.js';

const APPLY = mutation('applyTeam', 'ApplyTeamInput', 'ApplyTeamPayload { changed }');
const KINDS = ['number', 'text', 'boolean'];
const SORTS = [
  { field: 'contextVariables', section: 'context_variables', title: 'Values of the team', text: 'The same in every conversation, until a reply or a caller sets another.', valued: true },
  { field: 'runtimeVariables', section: 'runtime_variables', title: 'Set by replies', text: 'A line such as “word_count: 850” in a reply sets one.' },
  { field: 'inputVariables', section: 'input_variables', title: 'Set by callers', text: 'Programs give them when they start a conversation, or later.' },
];

export function variables(data, page) {
  const { dialog } = page.state;
  return [
    h('div', { class: 'cards' }, SORTS.map((sort) => sortCard(sort, data.team[sort.field], page))),
    dialog?.variables && editDialog(SORTS.find(({ field }) => field === dialog.variables), data.team, page),
  ];
}

function sortCard(sort, values, page) {
  const names = Object.keys(values).sort();
  const edit = () => page.set({ dialog: { variables: sort.field }, trouble: null, draft: { rows: names.map((name, key) => ({ key, name, kind: kindOf(sort, values[name]), value: String(values[name]) })), next: names.length } });
  return card({ title: sort.title, subtitle: sort.text, key: sort.field, actions: page.can('CONFIGURE_TEAM') && button('Edit', edit, { kind: 'quiet', 'aria-label': `Edit: ${sort.title}` }) },
    names.length ? h('dl', { class: 'pairs' }, names.map((name) => h('div', { key: name }, h('dt', null, h('code', null, name)), h('dd', null, String(values[name])))))
      : h('p', { class: 'quiet' }, 'None.'));
}

const kindOf = (sort, value) => (!sort.valued ? value : typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'text');

function editDialog(sort, team, page) {
  const { draft } = page.state;
  const input = () => ({ file: JSON.stringify({ name: team.name, [sort.section]: Object.fromEntries(draft.rows.filter((row) => row.name.trim()).map((row) => [row.name.trim(), sort.valued ? typed(row) : row.kind])) }) });
  return formDialog(page, { title: sort.title, change: APPLY, input, submit: 'Save', done: 'The variables are saved' }, (trouble) => [
    h('ul', { class: 'variable-rows' }, draft.rows.map((row, index) => variableRow(row, index, sort, draft, page))),
    h('div', null, button('Add a variable', () => { draft.rows.push({ key: draft.next, name: '', kind: 'number', value: '' }); draft.next += 1; page.redraw(); }, { kind: 'quiet' })),
    trouble?.problems.length > 0 && h('ul', { class: 'field-error' }, trouble.problems.map((problem) => h('li', { key: problem.path }, `${problem.path}: ${problem.message}`))),
  ]);
}

/** A number that is none stays a text, so that the server can say what is wrong with it. */
function typed({ kind, value }) {
  if (kind === 'boolean') return value === 'true';
  return kind === 'number' && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}

function variableRow(row, index, sort, draft, page) {
  const label = (text) => ({ 'aria-label': `${text} ${index + 1}` });
  const turn = (changes) => { Object.assign(row, changes); page.redraw(); };
  return h('li', { key: row.key },
    h('input', { ...label('Name'), placeholder: 'name', class: 'mono', spellcheck: 'false', value: row.name, oninput: (event) => { row.name = event.target.value; } }),
    h('select', { ...label('Kind'), onchange: (event) => turn({ kind: event.target.value }) }, KINDS.map((kind) => h('option', { key: kind, value: kind, selected: kind === row.kind }, kind))),
    sort.valued && (row.kind === 'boolean'
      ? h('select', { key: 'boolean', ...label('Value'), onchange: (event) => { row.value = event.target.value; } }, ['true', 'false'].map((value) => h('option', { key: value, value, selected: value === String(row.value === 'true') }, value)))
      : h('input', { key: 'value', ...label('Value'), placeholder: 'value', value: row.value, oninput: (event) => { row.value = event.target.value; } })),
    iconButton(`Remove variable ${index + 1}`, 'close', () => { draft.rows = draft.rows.filter((one) => one !== row); page.redraw(); }));
}
