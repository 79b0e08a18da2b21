// One dead letter: why the task failed, its attempts, and the two ways on.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { count, cut, duration, words } from '../../format.js';
import { actionDialog, agentChoices, agentLink, button, card, copyId, empty, facts, field, foldedProse, linkButton, openDialog, status, table, time } from '../../parts.js';
import { go, to } from '../../router.js';

const REPLAY = mutation('replayDeadLetter', 'ReplayDeadLetterInput', 'DeadLetterPayload { task { id } }', 'BudgetExhausted { scope }');
const DISCARD = mutation('discardDeadLetter', 'DiscardDeadLetterInput', 'DeadLetterPayload { deadLetter { id } }');

export const LETTER = `id status reason createdAt resolvedAt resolvedBy note replay { id title status }
  task {
    id title type status instructions context expectedOutput errorCode timeoutSeconds maxTokens priority assignee { id name }
    budget { cap } attempts(last: 10) { nodes { id number outcome error startedAt endedAt tokensUsed agent { id name } } }
  }`;

export function detail(data, page) {
  const { letter } = data;
  const back = h('p', { class: 'desk-back' }, linkButton('Back to the list', to('/dead-letters', {}, { ...page.query, letter: '' }), { kind: 'quiet' }));
  if (letter === undefined) return null;
  if (!letter?.id) return [back, empty({ icon: 'dead', title: 'There is no such dead letter', text: 'It may belong to another team.' })];
  const { task } = letter;
  const open = letter.status === 'OPEN' && page.can('CONTROL_TASKS');
  return [
    back,
    card({ key: letter.id, class: 'subject' },
      h('div', { class: 'subject-line' }, status(letter.status, { tone: letter.status === 'OPEN' ? 'bad' : 'calm' }), copyId(letter.id),
        open && h('div', { class: 'subject-actions' }, button('Discard', () => openDialog(page, 'discard'), { kind: 'danger' }), button('Replay', () => openDialog(page, 'replay'), { kind: 'primary' }))),
      h('h2', { class: 'subject-title' }, h('a', { href: to('/tasks/:id', task) }, task.title)),
      h('div', { class: 'part' }, h('h3', null, 'Why it failed'), foldedProse(letter.reason)),
      facts([['Assignee', agentLink(task.assignee)], ['Type', words(task.type)], ['Code', task.errorCode && h('code', null, task.errorCode)], ['Failed', time(letter.createdAt)],
        ['Resolved', letter.resolvedAt && h('span', null, `by ${letter.resolvedBy} `, time(letter.resolvedAt))], ['Note', letter.note],
        ['Taken up in', letter.replay && h('span', null, h('a', { href: to('/tasks/:id', letter.replay) }, cut(letter.replay.title, 60)), ' ', status(letter.replay.status))]])),
    card({ key: 'asked', title: 'What was asked' }, foldedProse(task.instructions), task.context && h('div', { class: 'part' }, h('h3', null, 'Context'), foldedProse(task.context))),
    task.attempts.nodes.length > 0 && card({ key: 'attempts', title: 'Attempts' }, table({ label: 'Attempts', columns: COLUMNS, rows: task.attempts.nodes })),
  ];
}

const COLUMNS = [
  { name: 'Attempt', value: ({ number }) => `${number}` },
  { name: 'Outcome', wide: true, value: (one) => h('span', { class: 'cell-title' }, status(one.outcome), one.error && h('small', { class: 'error-text' }, cut(one.error, 240))) },
  { name: 'Agent', value: (one) => agentLink(one.agent) },
  { name: 'Took', align: 'end', value: (one) => duration(one.endedAt ? (new Date(one.endedAt) - new Date(one.startedAt)) / 1000 : null) },
  { name: 'Tokens', align: 'end', value: (one) => count(one.tokensUsed) },
];

export function dialogs(data, page) {
  const { letter } = data;
  if (!letter?.id) return null;
  switch (page.state.dialog?.name) {
    case 'replay': return replayDialog(data, page);
    case 'discard': return actionDialog(page, { title: 'Give it up?', lead: 'The work is not done. The task and its attempts can still be read.', submit: 'Discard', kind: 'danger', change: DISCARD, done: 'Discarded', input: ({ note }) => ({ deadLetterId: letter.id, note }) }, (problem) => [note(problem)]);
    default: return null;
  }
}

const note = (problem) => field({ label: 'A note', name: 'note', maxlength: 500, hint: 'What to remember about it.', error: problem('note') });

/** Only what was changed is sent: the rest stays as the task had it. */
function replayDialog({ letter, ...data }, page) {
  const { task } = letter;
  const had = { title: task.title, instructions: task.instructions, context: task.context, expectedOutput: task.expectedOutput, assigneeId: task.assignee.id };
  const numbers = { timeoutSeconds: task.timeoutSeconds, maxTokens: task.maxTokens };
  const changed = (values) => ({
    ...Object.fromEntries(Object.entries(had).filter(([name, value]) => values[name] !== value).map(([name]) => [name, values[name]])),
    ...Object.fromEntries(Object.entries(numbers).filter(([name, value]) => values[name] && Number(values[name]) !== value).map(([name]) => [name, Number(values[name])])),
    ...(values.budgetUsd ? { budgetUsd: values.budgetUsd } : {}),
  });
  return actionDialog(page, {
    title: 'Run it again, with changes', lead: 'It becomes a new task; what you leave as it is stays so.', submit: 'Replay', change: REPLAY, done: 'It runs again', wide: true,
    input: (values) => ({ deadLetterId: letter.id, note: values.note, ...changed(values) }),
    then: (payload) => go(to('/tasks/:id', payload.task)),
  }, (problem) => [
    h('div', { class: 'field-pair', key: 'who' },
      field({ label: 'Title', name: 'title', required: true, maxlength: 200, value: task.title, error: problem('title') }),
      field({ label: 'Assignee', name: 'assigneeId', options: everybody(data, task), value: task.assignee.id, error: problem('assigneeId') })),
    field({ label: 'Instructions', name: 'instructions', rows: 7, required: true, value: task.instructions, error: problem('instructions') }),
    field({ label: 'Context', name: 'context', rows: 3, value: task.context, error: problem('context') }),
    h('details', { class: 'more-fields', key: 'more' }, h('summary', null, 'Expected output and limits'),
      field({ label: 'Expected output', name: 'expectedOutput', rows: 2, value: task.expectedOutput, error: problem('expectedOutput') }),
      h('div', { class: 'field-pair' },
        field({ label: 'Seconds for an attempt', name: 'timeoutSeconds', type: 'number', min: 1, max: 86_400, value: task.timeoutSeconds, error: problem('timeoutSeconds') }),
        field({ label: 'Tokens for an attempt', name: 'maxTokens', type: 'number', min: 1, value: task.maxTokens, error: problem('maxTokens') }),
        field({ label: 'Budget in US dollars', name: 'budgetUsd', type: 'number', min: '0', step: 'any', placeholder: 'as before', error: problem('budgetUsd') }))),
    note(problem),
  ]);
}

function everybody(data, task) {
  const choices = agentChoices(data);
  return choices.some(([id]) => id === task.assignee.id) ? choices : [[task.assignee.id, `${task.assignee.name} (takes no work now)`], ...choices];
}
