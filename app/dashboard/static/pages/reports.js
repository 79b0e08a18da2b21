// All reports, and a form to ask for one: the type brings its sections and its parameters.

import { h } from '../dom.js';
import { cut, plural, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { agentLink, all, button, card, CHOICES, empty, filters, filterSelect, filterWords, more, openDialog, status, table, time } from '../parts.js';
import { to } from '../router.js';
import { requestDialog, TEMPLATES } from './report/request.js';
import { REPORT_TONES } from './report/states.js';

const FILTERS = ['words', 'type', 'status'];
const STATES = ['WORKING', 'REPAIRING', 'VALID', 'INVALID', 'FAILED'];
const TYPES = ['ACTION_PLAN', 'CODE_REVIEW', 'COMPARISON', 'DATA_ANALYSIS', 'PERFORMANCE_REPORT', 'RESEARCH_SUMMARY', 'RISK_ASSESSMENT', 'SECURITY_AUDIT'];

const QUERY = `query Reports($where: ReportFilter, $after: Cursor) {
  reports(first: 30, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id title type status format createdAt endedAt problems assignee { id name } requester { id name } onBehalfOf }
  }
  reportTemplates { ${TEMPLATES} }
  ${CHOICES}
}`;

const STREAM = `subscription Reports($after: Cursor) {
  teamEvents(after: $after, kinds: [REPORT_REQUESTED, REPORT_REPAIR_REQUESTED, REPORT_COMPLETED, REPORT_INVALID, REPORT_FAILED]) {
    __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

export default {
  name: 'reports',
  path: '/reports',
  title: 'Reports',
  nav: { label: 'Reports', icon: 'report', group: 'Work' },
  needs: 'READ_TEAM',
  state: { dialog: null, type: 'RESEARCH_SUMMARY' },

  data: ({ can, query }) => ({
    query: QUERY,
    variables: { where: all([query.words && { title: { contains: query.words } }, query.type && { type: { eq: query.type } }, query.status && { status: { eq: query.status } }]) },
    stream: can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, reports: mergeConnection(old.reports, fresh.reports) }),
  }),

  view: (data, page) => [
    h('div', { class: 'list-head', key: 'head' },
      filters(page, FILTERS,
        filterWords(page, { label: 'Words', placeholder: 'in the title' }),
        filterSelect(page, { name: 'type', label: 'Type', options: TYPES }),
        filterSelect(page, { name: 'status', label: 'Status', options: STATES })),
      page.can('DELEGATE_TASKS') && button('Request a report', () => openDialog(page, 'request'), { kind: 'primary' })),
    card({ key: 'list' }, list(data, page)),
    page.state.dialog?.name === 'request' && requestDialog(data, page),
  ],
};

function list(data, page) {
  const { nodes } = data.reports;
  if (nodes.length) return [table({ label: 'Reports', columns: COLUMNS, rows: nodes, href: ({ id }) => to('/reports/:id', { id }) }), more(page, 'reports')];
  if (FILTERS.some((name) => page.query[name])) return empty({ icon: 'search', title: 'No report fits', text: 'Choose less, or clear the filters above.' });
  return empty({ icon: 'report', title: 'No reports yet', text: page.can('DELEGATE_TASKS') ? 'Request one: an agent writes it, and Parley holds it against its template.' : 'They appear here as soon as somebody asks for one.' });
}

const COLUMNS = [
  { name: 'Report', wide: true, value: (report) => h('span', { class: 'cell-title' }, h('span', null, cut(report.title, 120)), h('small', { class: 'quiet' }, words(report.type))) },
  { name: 'Status', value: (report) => h('span', { class: 'cell-title' }, status(report.status, { tone: REPORT_TONES[report.status] }), report.problems.length > 0 && h('small', { class: 'quiet' }, plural(report.problems.length, 'problem'))) },
  { name: 'Written by', value: (report) => agentLink(report.assignee) },
  { name: 'Asked for by', value: (report) => (report.requester ? agentLink(report.requester) : report.onBehalfOf) },
  { name: 'Created', align: 'end', value: (report) => time(report.createdAt) },
];
