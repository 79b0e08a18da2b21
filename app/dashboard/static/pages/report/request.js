// Ask for a report: choosing a type changes which parameters and sections are asked for.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { words } from '../../format.js';
import { actionDialog, agentChoices, checkbox, field } from '../../parts.js';
import { go, to } from '../../router.js';

export const TEMPLATES = 'type description requiredSections optionalSections parameters { name description required many least choices }';
const REQUEST = mutation('requestReport', 'RequestReportInput', 'ReportPayload { report { id } }', 'FeatureDisabled { flag }', 'BudgetExhausted { scope }');
const FORMATS = [['MARKDOWN', 'Markdown'], ['BULLET_POINTS', 'Bullet points'], ['JSON', 'JSON']];

/** One value a parameter: a list where it takes many, one line each; nothing where nothing was given. */
function parametersOf(template, values) {
  const read = ({ name, many }) => {
    const text = (values[`parameter-${name}`] ?? '').trim();
    return [name, many ? text.split('\n').map((line) => line.trim()).filter(Boolean) : text];
  };
  return Object.fromEntries(template.parameters.map(read).filter(([, value]) => value.length));
}

const sectionsOf = (template, values) => template.optionalSections.filter((name) => values[`section-${name}`]);

export function requestDialog(data, page) {
  const template = data.reportTemplates.find(({ type }) => type === page.state.type) ?? data.reportTemplates[0];
  return actionDialog(page, {
    title: 'Request a report', submit: 'Request', change: REQUEST, done: 'It is being written', wide: true,
    input: (values) => ({
      type: template.type, title: values.title.trim(), format: values.format, context: values.context, assigneeId: values.assigneeId || null,
      parameters: parametersOf(template, values), sections: sectionsOf(template, values), ...(values.budgetUsd ? { budgetUsd: values.budgetUsd } : {}),
    }),
    then: ({ report }) => go(to('/reports/:id', report)),
  }, (problem) => [
    h('div', { class: 'field-pair', key: 'what' },
      field({ label: 'Type', name: 'type', options: data.reportTemplates.map(({ type }) => [type, words(type)]), value: template.type, onchange: (event) => page.set({ type: event.target.value }) }),
      field({ label: 'Format', name: 'format', options: FORMATS, value: 'MARKDOWN', error: problem('format') })),
    h('p', { class: 'quiet small', key: 'told' }, `${template.description} It has: ${template.requiredSections.map(words).join(', ').toLowerCase()}.`),
    field({ label: 'Title', name: 'title', required: true, maxlength: 200, error: problem('title') }),
    template.parameters.map((parameter) => parameterField(parameter, problem)),
    field({ label: 'What it is to be written from', name: 'context', rows: 4, maxlength: 50_000, error: problem('context') }),
    template.optionalSections.length > 0 && h('fieldset', { class: 'choice-set', key: 'sections' }, h('legend', null, 'Further sections'), template.optionalSections.map((name) => checkbox({ label: words(name), name: `section-${name}` }))),
    h('div', { class: 'field-pair', key: 'who' },
      field({ label: 'Written by', name: 'assigneeId', options: [['', 'Routing decides'], ...agentChoices(data)], error: problem('assigneeId') }),
      field({ label: 'Budget in US dollars', name: 'budgetUsd', type: 'number', min: '0', step: 'any', placeholder: 'the usual', error: problem('budgetUsd') })),
  ]);
}

function parameterField({ name, description, required, many, least, choices }, problem) {
  const common = { label: words(name), name: `parameter-${name}`, required, error: problem(`parameters.${name}`) };
  if (choices.length) return field({ ...common, hint: description, options: [...(required ? [] : [['', 'As usual']]), ...choices.map((one) => [one, words(one)])] });
  if (many) return field({ ...common, rows: 3, hint: `${description} One a line${least > 1 ? `, at least ${least}` : ''}.` });
  return field({ ...common, maxlength: 2000, hint: description });
}
