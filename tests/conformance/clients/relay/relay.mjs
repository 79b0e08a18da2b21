// Relay's runtime without React. ARTIFACTS is the folder that relay-compiler wrote to.
import { createRequire } from 'node:module';
import { createClient } from 'graphql-ws';
import relay from 'relay-runtime';
import WebSocket from 'ws';
import { resume } from '../resume.mjs';
import { AUTHORIZATION, PARLEY_URL, SOCKET_URL, play } from '../story.mjs';

const { Environment, Network, Observable, RecordSource, Store } = relay;
const { commitMutation, createOperationDescriptor, fetchQuery, getSingularSelector, requestSubscription } = relay;
const artifact = (name) => createRequire(`${process.env.ARTIFACTS}/`)(`./${name}.graphql.js`);
const agentsQuery = artifact('TeamAgentsQuery');
const agentsFragment = artifact('Team_agents');
const pageQuery = artifact('TeamPageQuery');
const createAgentMutation = artifact('TeamCreateAgentMutation');
const eventsSubscription = artifact('TeamEventsSubscription');

// A persisted artifact has an id and no text. graphql-ws insists on a query, if only an empty one.
const request = ({ id, text }, variables) => ({ ...(id ? { documentId: id, query: '' } : { query: text }), variables });
const socket = resume(
  createClient({
    url: SOCKET_URL,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: AUTHORIZATION },
    retryAttempts: Infinity,
    retryWait: () => new Promise((retry) => setTimeout(retry, 50)),
    shouldRetry: () => true,
  }),
);
const environment = new Environment({
  store: new Store(new RecordSource()),
  network: Network.create(
    async (params, variables) => {
      const answer = await fetch(PARLEY_URL, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: AUTHORIZATION },
        body: JSON.stringify(request(params, variables)),
      });
      return answer.json();
    },
    (params, variables) => Observable.create((sink) => socket.subscribe(request(params, variables), sink)),
  ),
});

// What usePaginationFragment does: the query once, then the refetchable fragment's own query for each next page, whose
// edges Relay's store appends to the connection.
async function everyPage(count) {
  const operation = createOperationDescriptor(agentsQuery, { count });
  environment.retain(operation);
  await fetchQuery(environment, agentsQuery, { count }).toPromise();
  const connection = () => {
    const root = environment.lookup(operation.fragment).data;
    return environment.lookup(getSingularSelector(agentsFragment, root)).data.agents;
  };
  const lengths = [connection().edges.length];
  while (connection().pageInfo.hasNextPage) {
    await fetchQuery(environment, pageQuery, { count, cursor: connection().pageInfo.endCursor }).toPromise();
    lengths.push(connection().edges.length);
  }
  return { lengths, slugs: connection().edges.map((edge) => edge.node.slug) };
}

await play({
  agents: async () => {
    const operation = createOperationDescriptor(agentsQuery, { count: 2 });
    const root = await fetchQuery(environment, agentsQuery, { count: 2 }).toPromise();
    const { edges, totalCount } = environment.lookup(getSingularSelector(agentsFragment, root)).data.agents;
    environment.retain(operation);
    return { nodes: edges.map(({ node: { id, slug } }) => ({ id, slug })), totalCount };
  },
  createAgent: (slug) =>
    new Promise((onCompleted, onError) =>
      commitMutation(environment, {
        mutation: createAgentMutation,
        variables: { slug },
        onCompleted: (data) => onCompleted(data.createAgent),
        onError,
      }),
    ),
  follow: (after, next) => {
    const stream = requestSubscription(environment, {
      subscription: eventsSubscription,
      variables: { after },
      onNext: (data) => next(data.teamEvents),
      onError: console.error,
    });
    return () => stream.dispose();
  },
  more: { pages: () => everyPage(2) },
});
