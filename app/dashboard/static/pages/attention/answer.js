// Forms to answer by kind: an option to press, words to write, a cap to raise; and a dialog to assign.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { money, words } from '../../format.js';
import { actionDialog, agentChoices, button, card, field, toast, valuesOf } from '../../parts.js';
import { Trouble } from '../../trouble.js';

const ANSWER = mutation('answerAttention', 'AnswerAttentionInput', 'AttentionPayload { attentionItem { id } }', 'AlreadyAnswered { status answeredBy option answer }');
const ASSIGN = mutation('assignAttention', 'AssignAttentionInput', 'AttentionPayload { attentionItem { id } }', 'AlreadyAnswered { answeredBy }');
const GOOD = new Set(['approve', 'replay', 'retry', 'raise', 'answer']);
const BAD = new Set(['reject', 'discard', 'abort', 'close']);
const LEADS = {
  DEAD_LETTER: 'Replay takes the work up in a new task; to change it first, open the dead letter.',
  ESCALATION: 'It goes on with what you decide.',
  FAILED_SUBTASK: 'What follows happens with the answer or not at all.',
  COST_CLAIM: 'Book adds the claimed cost to the team’s budgets and needs an admin; dismiss drops it.',
  BUDGET_RAISE: 'Raise the cap, or leave it: work under way goes on, new work is refused.',
};

export function answerForm(item, data, page) {
  const { refused } = page.state;
  const trouble = refused?.id === item.id ? refused.trouble : null;
  const raise = item.kind === 'BUDGET_RAISE';
  const options = item.options.filter((option) => option !== 'raise' || page.can('CONFIGURE_TEAM'));
  const submit = (event) => {
    event.preventDefault();
    answer(item, { option: event.submitter?.value || null, ...valuesOf(event.currentTarget) }, page);
  };
  return card({ key: 'answer', title: 'Answer', subtitle: LEADS[item.kind] },
    h('form', { class: 'form', key: item.id, onsubmit: submit },
      raise && page.can('CONFIGURE_TEAM') && field({ label: 'New cap in US dollars', name: 'capUsd', type: 'number', step: 'any', min: '0', placeholder: `more than ${money(item.budget?.cap)}`, error: trouble?.problem('capUsd') }),
      item.options.includes('redirect') && field({ label: 'Who is asked instead', name: 'agentId', options: [['', 'Nobody'], ...agentChoices(data)], hint: 'To redirect.', error: trouble?.problem('agentId') }),
      field({ label: item.options.length && !item.options.includes('answer') ? 'A note' : 'Your answer', name: 'text', rows: 3, required: !item.options.length, maxlength: item.deadLetter ? 500 : 10_000, error: trouble?.problem('text') }),
      field({ label: 'Your name', name: 'person', maxlength: 120, hint: `For keys that people share. Left out: ${page.viewer.name}.`, error: trouble?.problem('person') }),
      trouble && h('p', { class: 'form-trouble', role: 'alert' }, trouble.message, ' ', trouble.next),
      h('div', { class: 'form-actions' }, options.length
        ? [...options].sort((a, b) => GOOD.has(a) - GOOD.has(b)).map((option) => button(words(option), null, { key: option, type: 'submit', value: option, kind: GOOD.has(option) ? 'primary' : BAD.has(option) ? 'danger' : 'plain', busy: page.isBusy('answer') }))
        : button('Answer', null, { type: 'submit', kind: 'primary', busy: page.isBusy('answer') }))));
}

async function answer(item, { option, text, person, capUsd, agentId }, page) {
  const input = { attentionId: item.id, text, ...(option ? { option } : {}), ...(person.trim() ? { person: person.trim() } : {}), ...(option === 'raise' && capUsd ? { capUsd } : {}), ...(option === 'redirect' && agentId ? { agentId } : {}) };
  page.state.mine = new Set([...page.state.mine, item.id]);
  page.set({ refused: null });
  try {
    await page.act(ANSWER, input, { done: 'Answered', name: 'answer', quiet: true });
  } catch (error) {
    const trouble = Trouble.of(error);
    if (trouble.code === 'ALREADY_ANSWERED') beaten(trouble, page);
    else page.set({ refused: { id: item.id, trouble } });
  }
}

/** Of two who answer at once, one wins; the other is told who it was, and sees what was said. */
function beaten({ details }, page) {
  const said = [details.option && words(details.option), details.answer].filter(Boolean).join(': ');
  toast({ text: `${details.answeredBy} was faster; their answer counts`, detail: said, tone: 'wait' });
  page.reload();
}

export function assignDialog(item, page) {
  return actionDialog(page, {
    title: 'Who is to answer?', lead: 'Anybody who may answer still can.', submit: 'Assign', change: ASSIGN, done: 'Assigned',
    input: (values) => ({ attentionId: item.id, assignee: values.assignee.trim() || null, note: values.note }),
  }, (problem) => [
    field({ label: 'Person', name: 'assignee', maxlength: 120, value: item.assignee ?? '', hint: 'Left out: whoever comes first.', error: problem('assignee') }),
    field({ label: 'Why', name: 'note', maxlength: 500, error: problem('note') }),
  ]);
}
