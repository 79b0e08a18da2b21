// The team's agents: find one, see how they do, add another.

import { mutation } from '../api.js';
import { h } from '../dom.js';
import { count, cut, money, percent, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { avatar, badge, button, card, empty, field, formDialog, more, status, table, tabs } from '../parts.js';
import { endQuestions } from '../question.js';
import { go, to } from '../router.js';
import { agentFields, agentInput, draftOf } from './agent/form.js';
import { who } from './agents/who.js';

const QUERY = `query Agents($where: AgentFilter, $after: Cursor) {
  agents(first: 50, after: $after, where: $where, orderBy: [{ field: NAME }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes {
      id slug name tagline type customType status runtime modelTier unreadCount skills { name }
      availability { available activeTasks reason } record: trackRecord { tasksCompleted successShare meanStars attemptCost answerCost }
    }
  }
  active: agents(first: 1, where: { status: { eq: ACTIVE } }) { totalCount }
  paused: agents(first: 1, where: { status: { eq: PAUSED } }) { totalCount }
  archived: agents(first: 1, where: { status: { eq: ARCHIVED } }) { totalCount }
}`;
const STREAM = `subscription Agents($after: Cursor) {
  teamEvents(after: $after, kinds: [AGENT_CREATED, AGENT_UPDATED, AGENT_PAUSED, AGENT_RESUMED, AGENT_ARCHIVED, TASK_CREATED, TASK_COMPLETED, TASK_FAILED]) {
    __typename ... on Event { cursor } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;
const CREATE = mutation('createAgent', 'CreateAgentInput', 'AgentPayload { agent { id } }');

function whereOf({ tab, find }) {
  const text = find && { contains: find };
  const state = { active: ['ACTIVE'], paused: ['PAUSED'], archived: ['ARCHIVED'] }[tab] ?? ['ACTIVE', 'PAUSED'];
  return { status: { in: state }, ...(text ? { or: [{ name: text }, { slug: text }, { tagline: text }, { role: text }] } : {}) };
}

export default {
  name: 'agents',
  path: '/agents',
  title: 'Agents',
  nav: { label: 'Agents', icon: 'agent', group: 'Agents' },
  needs: 'READ_TEAM',
  state: { dialog: null, trouble: null, draft: null },

  data: ({ can, query }) => ({
    query: QUERY,
    variables: { where: whereOf(query) },
    stream: can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, agents: mergeConnection(old.agents, fresh.agents) }),
  }),

  view: (data, page) => [
    h('div', { class: 'two-columns agents-page' },
      card({ class: 'agents-list' }, head(page), list(data, page)),
      h('div', { class: 'column' }, who(page))),
    page.state.dialog && createDialog(page),
  ],

  leave: endQuestions,
};

function head(page) {
  const { data } = page;
  const choices = [['here', 'In the team', data.active.totalCount + data.paused.totalCount], ['active', 'Active', data.active.totalCount], ['paused', 'Paused', data.paused.totalCount], ['archived', 'Archived', data.archived.totalCount]];
  return [
    h('div', { class: 'filters agents-head' },
      field({ label: 'Find', name: 'find', type: 'search', value: page.query.find ?? '', placeholder: 'Name, tagline or part', oninput: (event) => page.setQuery({ find: event.target.value.trim() }) }),
      page.can('WRITE_AGENTS') && button('New agent', () => page.set({ dialog: 'create', draft: draftOf() }), { kind: 'primary' })),
    tabs(page, choices, { label: 'Which agents' }),
  ];
}

function list(data, page) {
  const { nodes } = data.agents;
  if (!nodes.length) return nothing(page);
  return [table({ label: 'Agents', columns: COLUMNS, rows: nodes, href: (agent) => to('/agents/:id', { id: agent.id }) }), more(page, 'agents')];
}

function nothing(page) {
  if (page.query.find || page.query.tab) return empty({ icon: 'agent', title: 'No agent fits', text: 'Look among all, or for another word.', action: button('Show all', () => page.setQuery({ find: undefined, tab: undefined })) });
  return empty({ icon: 'agent', title: 'No agents yet', text: page.can('WRITE_AGENTS') ? 'Create one here, or apply a team file under Team.' : 'An admin creates them.' });
}

const COLUMNS = [
  { name: 'Agent', wide: true, value: (agent) => h('span', { class: 'agent-cell' }, avatar(agent), h('span', { class: 'two-lines' }, h('strong', null, agent.name), h('small', null, agent.tagline || `@${agent.slug}`))) },
  { name: 'Good at', value: (agent) => (agent.skills.length ? h('span', { class: 'skills-cell', title: agent.skills.map((skill) => skill.name).join(', ') }, agent.skills.slice(0, 2).map((skill) => badge(cut(skill.name, 24))), agent.skills.length > 2 && h('small', null, `+${agent.skills.length - 2}`)) : h('span', { class: 'quiet' }, '–')) },
  { name: 'Runs', value: (agent) => h('span', { class: 'two-lines' }, words(agent.runtime), h('small', null, `tier ${agent.modelTier}`)) },
  { name: 'Open', align: 'end', value: (agent) => count(agent.availability.activeTasks) },
  { name: '30 days', align: 'end', value: ({ record }) => h('span', { class: 'two-lines' }, `${count(record.tasksCompleted)} done${record.successShare === null ? '' : `, ${percent(record.successShare)}`}`, h('small', null, [record.meanStars && `★ ${record.meanStars.toFixed(1)}`, money(Number(record.attemptCost) + Number(record.answerCost))].filter(Boolean).join(', '))) },
  { name: 'State', value: (agent) => (agent.status === 'ACTIVE' && !agent.availability.available ? status('WAITING', { text: 'At capacity' }) : status(agent.status)) },
];

/** A slug from a name, where none was given: 'Ada Lovelace' is ada-lovelace. */
export const slugOf = (name) => name.normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 63);

function createDialog(page) {
  const { draft } = page.state;
  const input = (values) => ({ ...agentInput(values, draft), slug: values.slug || slugOf(values.name) });
  return formDialog(page, { title: 'New agent', change: CREATE, input, submit: 'Create', done: 'The agent joined the team', wide: true, then: (payload) => payload && go(to('/agents/:id', { id: payload.agent.id })) }, (trouble) => [
    agentFields(page, draft, trouble),
    field({ label: 'Short name', name: 'slug', maxlength: 63, pattern: '[a-z0-9]([a-z0-9\\-]*[a-z0-9])?', error: trouble?.problem('slug'), hint: 'For @mentions: lower-case letters, digits, inner hyphens. It cannot be changed later. Left empty, it is made from the name.' }),
  ]);
}
