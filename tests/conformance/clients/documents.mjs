// What every script asks for. Each member of a stream's union selects its cursor, because any item can be the last.
export const AGENTS = `query Agents { agents(first: 2, orderBy: [{ field: SLUG }]) { nodes { id slug } totalCount } }`;

export const CREATE_AGENT = `mutation CreateAgent($slug: String!) {
  createAgent(input: { slug: $slug, name: $slug }) {
    __typename
    ... on AgentPayload { eventCursor agent { id slug } }
    ... on InvalidInput { problems { path message } }
    ... on Refusal { code message }
  }
}`;

export const TEAM_EVENTS = `subscription TeamEvents($after: Cursor) {
  teamEvents(kinds: [AGENT_CREATED], after: $after) {
    __typename
    ... on Event { id cursor agent { slug } }
    ... on CaughtUp { cursor }
    ... on Gap { cursor message }
  }
}`;
