// All sessions, newest first, and the door to a new one.

import { h } from '../dom.js';
import { count, cut, duration, money, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { avatar, button, card, empty, field, linkButton, more, sessionStatus, table, time } from '../parts.js';
import { to } from '../router.js';
import { sampleButtons } from '../sample_buttons.js';
import { PATTERNS, startDialog } from './sessions/start.js';

const STATUSES = ['PLANNING', 'ACTIVE', 'SYNTHESIZING', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'];
const OPEN = ['PLANNING', 'ACTIVE', 'SYNTHESIZING'];
const FACES = 5;

const QUERY = `query Sessions($after: Cursor, $where: CollaborationSessionFilter) {
  collaborationSessions(first: 30, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id pattern template goal status createdAt endedAt cost maxCostUsd stagesCompleted participants { position agent { id name } } }
  }
  agents(first: 100, where: { status: { eq: ACTIVE } }) { nodes { id slug name status runtime } }
  team { featureFlags { flag enabled } }
}`;

const STREAM = `subscription Sessions($after: Cursor) {
  teamEvents(after: $after, kinds: [COLLABORATION_STARTED, COLLABORATION_STAGE_COMPLETED, COLLABORATION_COMPLETED,
    COLLABORATION_FAILED, COLLABORATION_CANCELLED, COLLABORATION_TIMED_OUT, COLLABORATION_EXTENDED]) {
    __typename ... on Event { cursor } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

export default {
  name: 'sessions',
  path: '/sessions',
  title: 'Sessions',
  nav: { label: 'Sessions', icon: 'session', group: 'Work', phone: true },
  needs: 'READ_TEAM',

  data: (page) => ({
    query: QUERY,
    variables: { where: where(page.query) },
    stream: page.can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, collaborationSessions: mergeConnection(old.collaborationSessions, fresh.collaborationSessions) }),
  }),

  view: (data, page) => [
    card({ title: 'Sessions', subtitle: 'Agents working on one goal together', actions: page.can('START_COLLABORATIONS') && button('Start a session', () => page.set({ start: {} }), { kind: 'primary', icon: 'plus' }) },
      filters(page), list(data, page)),
    page.can('START_COLLABORATIONS') && card({ class: 'sample-card' }, sampleButtons({ agents: data.agents.nodes, featureFlags: data.team.featureFlags }, page)),
    page.state.start && startDialog(data.agents.nodes, page),
  ],
};

function where({ status: wanted, pattern, goal }) {
  const statuses = wanted === 'OPEN' ? { in: OPEN } : STATUSES.includes(wanted) ? { eq: wanted } : undefined;
  const found = {
    ...(statuses && { status: statuses }),
    ...(PATTERNS[pattern] && { pattern: { eq: pattern } }),
    ...(goal && { goal: { contains: goal } }),
  };
  return Object.keys(found).length ? found : null;
}

function filters(page) {
  const { query } = page;
  const choose = (name) => (event) => page.setQuery({ [name]: event.target.value || undefined });
  return h('form', { class: 'filters', role: 'search', 'aria-label': 'Filter sessions', onsubmit: (event) => event.preventDefault() },
    field({ label: 'Status', name: 'filter-status', value: query.status ?? '', options: [['', 'All'], ['OPEN', 'Under way'], ...STATUSES.map((one) => [one, words(one)])], onchange: choose('status') }),
    field({ label: 'Pattern', name: 'filter-pattern', value: query.pattern ?? '', options: [['', 'All'], ...Object.keys(PATTERNS).map((one) => [one, words(one)])], onchange: choose('pattern') }),
    field({ label: 'Goal contains', name: 'filter-goal', type: 'search', value: query.goal ?? '', onchange: choose('goal') }));
}

function list(data, page) {
  const { nodes, totalCount } = data.collaborationSessions;
  if (!nodes.length && where(page.query)) return empty({ icon: 'search', title: 'No session fits', text: 'Choose other filters.', action: linkButton('Show all', to('/sessions')) });
  if (!nodes.length) return empty({ icon: 'session', title: 'No session yet', text: page.can('START_COLLABORATIONS') ? 'Start one of your own, or a sample below, and watch it run.' : 'They appear here as soon as somebody starts one.' });
  const columns = [
    { name: 'Goal', value: (one) => cut(one.goal, 140), wide: true },
    { name: 'Status', value: (one) => sessionStatus(one.status) },
    { name: 'Pattern', value: (one) => words(one.template ?? one.pattern) },
    { name: 'Agents', value: faces },
    { name: 'Cost', value: (one) => money(one.cost), align: 'end' },
    { name: 'Took', value: (one) => duration((new Date(one.endedAt ?? Date.now()) - new Date(one.createdAt)) / 1000), align: 'end' },
    { name: 'Started', value: (one) => time(one.createdAt), align: 'end' },
  ];
  return [
    h('p', { class: 'unseen', role: 'status' }, `${count(totalCount)} sessions`),
    table({ label: 'Sessions', columns, rows: nodes, href: (one) => to('/sessions/:id', { id: one.id }) }),
    more(page, 'collaborationSessions'),
  ];
}

function faces({ participants }) {
  const names = participants.map(({ agent }) => agent.name).join(', ');
  return h('span', { class: 'faces', title: names },
    participants.slice(0, FACES).map(({ position, agent }) => h('span', { key: position }, avatar(agent, { size: 'small' }))),
    participants.length > FACES && h('span', { class: 'quiet' }, `+${participants.length - FACES}`),
    h('span', { class: 'unseen' }, names));
}
