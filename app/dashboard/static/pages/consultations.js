// All consultations: who asked whom what, what came of it; and a form to ask in the name of an agent.

import { mutation } from '../api.js';
import { h } from '../dom.js';
import { cut, money, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { actionDialog, agentChoices, agentLink, all, badge, button, card, CHOICES, empty, field, filters, filterSelect, filterWords, more, openDialog, status, table, time } from '../parts.js';
import { go, to } from '../router.js';
import { REASONS, STATUSES, TONES, URGENCIES } from './consultation/kinds.js';

const FILTERS = ['words', 'status', 'reason', 'agent'];
const ASK = mutation('requestConsultation', 'RequestConsultationInput', 'ConsultationPayload { consultation { id } }', 'FeatureDisabled { flag }');

const QUERY = `query Consultations($where: ConsultationFilter, $after: Cursor) {
  consultations(first: 30, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id question reason urgency status outcome loopDetected exchangeCount cost rating createdAt requester { id name } specialist { id name } }
  }
  ${CHOICES}
}`;

const STREAM = `subscription Consultations($after: Cursor) {
  consultationEvents(after: $after) { __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

function where({ words: text, status: state, reason, agent }) {
  return all([
    text && { question: { contains: text } }, state && { status: { eq: state } }, reason && { reason: { eq: reason } },
    agent && { or: [{ requesterId: { eq: agent } }, { specialistId: { eq: agent } }] },
  ]);
}

export default {
  name: 'consultations',
  path: '/consultations',
  title: 'Consultations',
  nav: { label: 'Consultations', icon: 'consultation', group: 'Agents' },
  needs: 'READ_TEAM',
  state: { dialog: null },

  data: ({ can, query, viewer }) => ({
    query: QUERY,
    variables: { where: where(query) },
    stream: can('READ_EVENTS') || viewer.agent ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, consultations: mergeConnection(old.consultations, fresh.consultations) }),
  }),

  view: (data, page) => [
    h('div', { class: 'list-head', key: 'head' },
      filters(page, FILTERS,
        filterWords(page, { label: 'Words', placeholder: 'in the question' }),
        filterSelect(page, { name: 'status', label: 'Status', options: STATUSES }),
        filterSelect(page, { name: 'reason', label: 'Reason', options: REASONS }),
        filterSelect(page, { name: 'agent', label: 'Agent', options: agentChoices(data, { paused: true }), any: 'Any' })),
      page.can('CONSULT_AGENTS') && button('Ask', () => openDialog(page, 'ask'), { kind: 'primary' })),
    card({ key: 'list' }, list(data, page)),
    page.state.dialog?.name === 'ask' && askDialog(data, page),
  ],
};

function list(data, page) {
  const { nodes } = data.consultations;
  if (nodes.length) return [table({ label: 'Consultations', columns: COLUMNS, rows: nodes, href: ({ id }) => to('/consultations/:id', { id }) }), more(page, 'consultations')];
  if (FILTERS.some((name) => page.query[name])) return empty({ icon: 'search', title: 'No consultation fits', text: 'Choose less, or clear the filters above.' });
  return empty({ icon: 'consultation', title: 'Nobody asked for advice yet', text: 'Agents consult each other while they work: one asks, Parley finds who knows, that one answers.' });
}

const COLUMNS = [
  { name: 'Question', wide: true, value: (one) => h('span', { class: 'cell-title' }, h('span', null, cut(one.question, 140)), h('small', { class: 'quiet' }, words(one.reason))) },
  { name: 'Status', value: (one) => h('span', { class: 'cell-title' }, status(one.status, { tone: TONES[one.status] }), one.loopDetected && badge('Loop', 'bad')) },
  { name: 'Asked', value: (one) => agentLink(one.requester) },
  { name: 'Answers', value: (one) => (one.specialist ? agentLink(one.specialist) : h('span', { class: 'quiet' }, 'a person')) },
  { name: 'Said', align: 'end', value: (one) => one.exchangeCount },
  { name: 'Cost', align: 'end', value: (one) => money(one.cost) },
  { name: 'Helped', align: 'end', value: (one) => (one.rating ? `${one.rating} of 5` : '–') },
  { name: 'Asked at', align: 'end', value: (one) => time(one.createdAt) },
];

function askDialog(data, page) {
  const own = page.viewer.agent;
  return actionDialog(page, {
    title: 'Ask for advice', lead: 'Parley chooses who answers, and says why.', submit: 'Ask', change: ASK, done: 'Asked', wide: true,
    input: (values) => ({ requesterId: values.requesterId, question: values.question, reason: values.reason, urgency: values.urgency, suggestedAgentId: values.suggestedAgentId || null, context: { currentTask: values.currentTask, concern: values.concern } }),
    then: ({ consultation }) => go(to('/consultations/:id', consultation)),
  }, (problem) => [
    h('div', { class: 'field-pair', key: 'who' },
      field({ label: 'In the name of', name: 'requesterId', required: true, options: own ? [[own.id, own.name]] : agentChoices(data), error: problem('requesterId') }),
      field({ label: 'Who might know', name: 'suggestedAgentId', options: [['', 'No idea'], ...agentChoices(data)], hint: 'A hint, no more.', error: problem('suggestedAgentId') })),
    field({ label: 'Question', name: 'question', rows: 4, required: true, maxlength: 4000, error: problem('question') }),
    h('div', { class: 'field-pair', key: 'kind' },
      field({ label: 'Reason', name: 'reason', options: REASONS.map((one) => [one, words(one)]), value: 'OTHER', error: problem('reason') }),
      field({ label: 'Urgency', name: 'urgency', options: URGENCIES.map((one) => [one, words(one)]), value: 'NORMAL', error: problem('urgency') })),
    field({ label: 'What the agent works on', name: 'currentTask', rows: 2, maxlength: 2000, error: problem('context.currentTask') }),
    field({ label: 'What exactly is unclear', name: 'concern', rows: 2, maxlength: 2000, error: problem('context.concern') }),
  ]);
}
