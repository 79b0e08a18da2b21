// The team's settings: rules, variables, features, budgets, groups, routing policy, keys, and all of it as a file.

import { h } from '../dom.js';
import { mergeConnection } from '../live.js';
import { chosenTab, tabs } from '../parts.js';
import { at, put } from '../paths.js';
import { endQuestions } from '../question.js';
import { SIGNALS } from './decision/signals.js';
import { budgets } from './team/budgets.js';
import { features } from './team/features.js';
import { file } from './team/file.js';
import { groups } from './team/groups.js';
import { keys } from './team/keys.js';
import { policies } from './team/policies.js';
import { rules } from './team/rules.js';
import { variables } from './team/variables.js';

const BUDGET = '{ cap spent reserved remaining }';
const PAGE = 'totalCount pageInfo { hasNextPage endCursor }';
const QUERY = `query Team($mayKeys: Boolean!, $rules: Cursor, $keys: Cursor, $groups: Cursor, $policies: Cursor) {
  team {
    id slug name description afterWork messagePolicy contextVariables runtimeVariables inputVariables
    featureFlags { flag enabled overridden } dayBudgetUsd monthBudgetUsd dayBudget ${BUDGET} monthBudget ${BUDGET}
    handoffRules(first: 50, after: $rules, where: { retiredAt: { isNull: true } }, orderBy: [{ field: PRIORITY, direction: DESC }, { field: CREATED_AT }]) {
      ${PAGE} nodes { id trustsText condition priority version fromAgent { id name } toAgent { id name } }
    }
    apiKeys(first: 50, after: $keys, orderBy: [{ field: CREATED_AT, direction: DESC }]) @include(if: $mayKeys) {
      ${PAGE} nodes { id name prefix role live createdAt expiresAt revokedAt agent { id name } }
    }
  }
  agents(first: 100, orderBy: [{ field: NAME }], where: { status: { in: [ACTIVE, PAUSED] } }) { nodes { id name status } }
  groups(first: 25, after: $groups, where: { dissolvedAt: { isNull: true } }) {
    ${PAGE}
    nodes { id slug name purpose requiredSkills coordinator { id name } parent { id name } agents(first: 12) { totalCount nodes { id name } } }
  }
  routingPolicies(first: 20, after: $policies, orderBy: [{ field: VERSION, direction: DESC }]) {
    ${PAGE}
    nodes { id version createdAt createdBy note strategy k threshold skillFloor weights { ${SIGNALS.map(({ name }) => name).join(' ')} } }
  }
}`;

const STREAM = `subscription Team($after: Cursor) {
  teamEvents(after: $after, kinds: [
    TEAM_UPDATED, TEAM_FLAGS_CHANGED, TEAM_BUDGETS_CHANGED, TEAM_HANDOFF_RULES_CHANGED, ROUTING_POLICY_CHANGED, GROUP_SAVED,
    GROUP_DISSOLVED, API_KEY_CREATED, API_KEY_REVOKED, AGENT_CREATED, AGENT_ARCHIVED, AGENT_PAUSED, AGENT_RESUMED, BUDGET_NEAR_CAP
  ]) { __typename ... on Event { cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

const PAGED = ['team.handoffRules', 'team.apiKeys', 'groups', 'routingPolicies'];
const VIEWS = { rules, variables, features, budgets, groups, policy: policies, keys, file };

function choices(data, page) {
  const { team } = data;
  return [
    ['rules', 'Handoff rules', team.handoffRules.totalCount], ['variables', 'Variables'], ['features', 'Features'], ['budgets', 'Budgets'],
    ['groups', 'Groups', data.groups.totalCount], ['policy', 'Routing policy'], page.can('MANAGE_KEYS') && ['keys', 'API keys'], ['file', 'Team file'],
  ].filter(Boolean);
}

export default {
  name: 'team',
  path: '/team',
  title: 'Team',
  nav: { label: 'Team', icon: 'team', group: 'Settings' },
  needs: 'READ_TEAM',
  state: { dialog: null, trouble: null, draft: null, secret: null, file: null },

  data: ({ can }) => ({
    query: QUERY,
    variables: { mayKeys: can('MANAGE_KEYS') },
    stream: can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => PAGED.reduce((data, name) => put(data, name, mergeConnection(at(old, name), at(fresh, name))), fresh),
  }),

  view(data, page) {
    const all = choices(data, page);
    const chosen = chosenTab(page, all);
    return [
      data.team.description && h('p', { class: 'team-description' }, data.team.description),
      tabs(page, all, { label: 'Settings of the team' }),
      h('div', { key: chosen, class: 'team-view' }, VIEWS[chosen](data, page)),
    ];
  },

  leave: endQuestions,
};
