// Delegate a task: to an agent or a group, in the name of an agent, with limits for whom they matter to.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { words } from '../../format.js';
import { actionDialog, agentChoices, chosen, everybodyChoices, field } from '../../parts.js';
import { go, to } from '../../router.js';
import { PRIORITIES, TYPES } from './kinds.js';

const DELEGATE = mutation('delegateTask', 'DelegateTaskInput', 'TaskPayload { task { id } }', 'BudgetExhausted { scope }', 'FeatureDisabled { flag }');
const said = (values) => values.map((value) => [value, words(value)]);

/** Empty fields are left out, so that the API's own defaults count. */
function input({ title, who, creator, instructions, context, expected, type, priority, budget, timeout }) {
  return {
    ...chosen(who, 'assigneeId', 'groupId'),
    creatorId: creator, title: title.trim(), instructions, context, expectedOutput: expected, type, priority,
    ...(budget ? { budgetUsd: budget } : {}),
    ...(timeout ? { timeoutSeconds: Number(timeout) } : {}),
  };
}

export function delegateDialog(data, page) {
  const own = page.viewer.agent;
  return actionDialog(page, {
    title: 'Delegate a task', submit: 'Delegate', change: DELEGATE, input, done: 'Delegated', wide: true,
    then: ({ task }) => go(to('/tasks/:id', { id: task.id })),
  }, (problem) => [
    field({ label: 'What is wanted', name: 'title', required: true, maxlength: 200, error: problem('title') }),
    h('div', { class: 'field-pair', key: 'who' },
      field({ label: 'For', name: 'who', required: true, options: everybodyChoices(data), error: problem('assigneeId') ?? problem('groupId') }),
      field({ label: 'In the name of', name: 'creator', required: true, options: own ? [[own.id, own.name]] : agentChoices(data), value: own?.id ?? data.team.defaultAgent?.id, hint: 'Who gets the result.', error: problem('creatorId') })),
    field({ label: 'Instructions', name: 'instructions', rows: 6, required: true, maxlength: 100_000, error: problem('instructions') }),
    h('div', { class: 'field-pair', key: 'kind' },
      field({ label: 'Type', name: 'type', options: said(TYPES), value: 'ANALYZE', error: problem('type') }),
      field({ label: 'Priority', name: 'priority', options: said(PRIORITIES), value: 'NORMAL', error: problem('priority') })),
    h('details', { class: 'more-fields', key: 'more' }, h('summary', null, 'Context and limits'),
      field({ label: 'Context', name: 'context', rows: 3, hint: 'What helps to understand it.', error: problem('context') }),
      field({ label: 'Expected output', name: 'expected', rows: 2, maxlength: 10_000, error: problem('expectedOutput') }),
      h('div', { class: 'field-pair' },
        field({ label: 'Budget in US dollars', name: 'budget', type: 'number', min: '0', step: 'any', hint: 'Left out: the usual one.', error: problem('budgetUsd') }),
        field({ label: 'Seconds for an attempt', name: 'timeout', type: 'number', min: 1, max: 86_400, placeholder: '120', error: problem('timeoutSeconds') }))),
  ]);
}
