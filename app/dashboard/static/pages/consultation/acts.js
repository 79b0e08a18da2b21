// Answer in the specialist's place, ask further, or say how much it helped.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { actionDialog, button, field, openDialog } from '../../parts.js';

const PAYLOAD = 'ConsultationPayload { consultation { id status } }';
const ANSWER = mutation('answerConsultation', 'AnswerConsultationInput', PAYLOAD);
const CLARIFY = mutation('clarifyConsultation', 'ClarifyConsultationInput', PAYLOAD);
const RATE = mutation('rateConsultation', 'RateConsultationInput', PAYLOAD);
const HELPED = [['5', '5, all that was needed'], ['4', '4'], ['3', '3'], ['2', '2'], ['1', '1, it did not help']];

export function actions(one, page) {
  if (!page.can('CONSULT_AGENTS')) return [];
  const own = page.viewer.agent?.id;
  const open = ['PENDING', 'IN_PROGRESS'].includes(one.status);
  const asks = !own || own === one.requester.id;
  return [
    one.specialist && open && (!own || own === one.specialist.id) && button('Answer', () => openDialog(page, 'answer')),
    one.status === 'COMPLETED' && asks && one.specialist && button('Ask further', () => openDialog(page, 'clarify')),
    one.status === 'COMPLETED' && asks && !one.rating && button('Rate', () => openDialog(page, 'rate')),
  ].filter(Boolean);
}

const lines = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

export function dialogs({ consultation: one }, page) {
  const which = { consultationId: one.id };
  switch (page.state.dialog?.name) {
    case 'answer':
      return actionDialog(page, { title: `Answer as ${one.specialist.name}`, lead: 'A run that is under way counts no more.', submit: 'Answer', change: ANSWER, done: 'Answered', wide: true, input: (values) => ({ ...which, agentId: one.specialist.id, answer: values.answer, references: lines(values.references), suggestedNextSteps: lines(values.steps) }) }, (problem) => [
        field({ label: 'Answer', name: 'answer', rows: 6, required: true, maxlength: 20_000, error: problem('answer') }),
        h('div', { class: 'field-pair', key: 'more' },
          field({ label: 'Where to look', name: 'references', rows: 2, hint: 'One a line.', error: problem('references') }),
          field({ label: 'What to do next', name: 'steps', rows: 2, hint: 'One a line.', error: problem('suggestedNextSteps') })),
      ]);
    case 'clarify':
      return actionDialog(page, { title: `Ask ${one.specialist.name} further`, lead: `As ${one.requester.name}, in the same matter.`, submit: 'Ask', change: CLARIFY, done: 'Asked', input: (values) => ({ ...which, requesterId: one.requester.id, text: values.text }) }, (problem) => [field({ label: 'What is still unclear', name: 'text', rows: 4, required: true, maxlength: 4000, error: problem('text') })]);
    case 'rate':
      return actionDialog(page, { title: 'How much did it help?', lead: 'Said once. Routing learns from it.', submit: 'Rate', change: RATE, done: 'Rated', input: (values) => ({ ...which, requesterId: one.requester.id, rating: Number(values.rating), lessons: values.lessons }) }, (problem) => [
        field({ label: 'It helped', name: 'rating', options: HELPED, value: '5', error: problem('rating') }),
        field({ label: 'What is to be learned', name: 'lessons', rows: 3, maxlength: 2000, error: problem('lessons') }),
      ]);
    default:
      return null;
  }
}
