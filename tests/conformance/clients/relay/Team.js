// What relay-compiler reads. Nothing imports this file: the script takes the compiled artifacts by their names, as
// Relay's Babel plugin would put them here.
import { graphql } from 'relay-runtime';

graphql`
  query TeamAgentsQuery($count: Int!) {
    ...Team_agents @arguments(count: $count)
  }
`;

graphql`
  fragment Team_agents on Query
  @argumentDefinitions(count: { type: "Int!" }, cursor: { type: "Cursor" })
  @refetchable(queryName: "TeamPageQuery") {
    agents(first: $count, after: $cursor, orderBy: [{ field: SLUG }]) @connection(key: "Team_agents") {
      totalCount
      edges {
        node {
          id
          slug
        }
      }
    }
  }
`;

graphql`
  mutation TeamCreateAgentMutation($slug: String!) {
    createAgent(input: { slug: $slug, name: $slug }) {
      __typename
      ... on AgentPayload {
        eventCursor
        agent {
          id
          slug
        }
      }
      ... on InvalidInput {
        problems {
          path
          message
        }
      }
      ... on Refusal {
        code
        message
      }
    }
  }
`;

graphql`
  subscription TeamEventsSubscription($after: Cursor) {
    teamEvents(kinds: [AGENT_CREATED], after: $after) {
      __typename
      ... on Event {
        id
        cursor
        agent {
          slug
        }
      }
      ... on CaughtUp {
        cursor
      }
      ... on Gap {
        cursor
        message
      }
    }
  }
`;
