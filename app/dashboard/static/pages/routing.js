// How messages found their agents: every decision, filtered, in a table and in charts, live.

import { mergeConnection } from '../live.js';
import { button, card, empty, linkButton, more } from '../parts.js';
import { endQuestions, questionOf } from '../question.js';
import { to } from '../router.js';
import { CHARTS, charts, modelsOf } from './routing/charts.js';
import { bucketOf, cleared, isFiltered, whereOf } from './routing/filter.js';
import { filters } from './routing/filters.js';
import { decisions, ROW } from './routing/table.js';
import { takeAway } from './routing/take_away.js';

const CHARTS_EVERY_MS = 8_000;  // they cost the database more than a page of rows

const QUERY = `query Routing($where: RoutingDecisionFilter, $after: Cursor) {
  agents(first: 100, orderBy: [{ field: NAME }]) { nodes { id name } }
  routingDecisions(first: 50, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor } nodes { ${ROW} }
  }
}`;

const STREAM = `subscription Routing($after: Cursor) {
  routingEvents(after: $after) { __typename ... on Event { cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

export default {
  name: 'routing',
  path: '/routing',
  title: 'Routing',
  nav: { label: 'Routing', icon: 'routing', group: 'Decisions', phone: true },
  needs: 'READ_TEAM',
  state: { taking: false, otherCharts: true },

  data: ({ can, query }) => ({
    query: QUERY,
    variables: { where: whereOf(query) },
    stream: can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, routingDecisions: mergeConnection(old.routingDecisions, fresh.routingDecisions) }),
  }),

  view(data, page) {
    const question = currentCharts(data, page);
    const { nodes } = data.routingDecisions;
    return [
      filters(page, { agents: data.agents.nodes, models: modelsOf(question.data) }),
      nodes.length ? charts(question, bucketOf(page.query), page.state.otherCharts) : nothing(page),
      nodes.length > 0 && card({ title: 'Decisions', class: 'decisions', actions: actions(page) }, decisions(nodes), more(page, 'routingDecisions')),
      page.state.taking && takeAway(page, whereOf(page.query)),
    ];
  },

  leave: endQuestions,
};

/**
 * Charts follow the rows, at a slower pace: another filter is asked for at once, other rows when the last charts are some
 * seconds old. What is under way is let finish, so that a busy team has charts, too.
 */
function currentCharts(data, page) {
  const question = questionOf(page, 'charts');
  const { totalCount, nodes } = data.routingDecisions;
  const variables = { where: whereOf(page.query), bucket: bucketOf(page.query) };
  const asked = JSON.stringify(variables);
  const seen = JSON.stringify([totalCount, nodes[0]]);
  const same = page.asked === asked;
  if (same && (page.seen === seen || question.busy)) return question;
  const wait = same ? Math.max(0, page.chartsAt + CHARTS_EVERY_MS - Date.now()) : 0;
  Object.assign(page, { asked, seen, chartsAt: Date.now() + wait });
  page.state.otherCharts = !same;
  question.ask(CHARTS, variables, { afterMs: wait });
  return question;
}

const actions = (page) => [
  linkButton('Simulate', to('/simulate'), { icon: 'simulate' }),
  button('Take away', () => page.set({ taking: true }), { icon: 'external' }),
];

function nothing(page) {
  const filtered = isFiltered(page.query);
  return card({}, empty({
    icon: 'routing',
    title: filtered ? 'No decision fits this filter' : 'No message was routed in these days',
    text: filtered ? 'Ask for less at a time, or for a longer time.' : 'Every message in a conversation is routed, and so is what programs send to routeMessage.',
    action: filtered ? button('Clear the filter', () => page.setQuery(cleared())) : linkButton('Start a conversation', to('/conversations')),
  }));
}
