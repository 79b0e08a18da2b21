// Relay's runtime without React. ARTIFACTS is the folder that relay-compiler wrote to.
import { createRequire } from 'node:module';
import relay from 'relay-runtime';
import { socket } from '../socket.mjs';
import { AUTHORIZATION, PARLEY_URL, play } from '../story.mjs';

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
const ask = async (params, variables) => {
  const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' };
  const body = JSON.stringify(request(params, variables));
  return (await fetch(PARLEY_URL, { method: 'POST', headers, body })).json();
};
const subscribe = (params, variables) =>
  Observable.create((sink) => socket.subscribe(request(params, variables), sink));
const environment = new Environment({
  store: new Store(new RecordSource()),
  network: Network.create(ask, subscribe),
});

// What usePaginationFragment does: the query once, then the refetchable fragment's own query for each next page, whose
// edges Relay's store appends to the connection.
async function firstPage(count) {
  environment.retain(createOperationDescriptor(agentsQuery, { count }));
  const root = await fetchQuery(environment, agentsQuery, { count }).toPromise();
  return () => environment.lookup(getSingularSelector(agentsFragment, root)).data.agents;
}

async function everyPage(count) {
  const connection = await firstPage(count);
  const lengths = [connection().edges.length];
  while (connection().pageInfo.hasNextPage) {
    await fetchQuery(environment, pageQuery, { count, cursor: connection().pageInfo.endCursor }).toPromise();
    lengths.push(connection().edges.length);
  }
  return { lengths, slugs: connection().edges.map((edge) => edge.node.slug) };
}

async function agents() {
  const { edges, totalCount } = (await firstPage(2))();
  return { nodes: edges.map(({ node: { id, slug } }) => ({ id, slug })), totalCount };
}

const createAgent = (slug) =>
  new Promise((onCompleted, onError) =>
    commitMutation(environment, { mutation: createAgentMutation, variables: { slug }, onCompleted, onError }),
  );

function follow(after, next) {
  const stream = requestSubscription(environment, {
    subscription: eventsSubscription,
    variables: { after },
    onNext: (data) => next(data.teamEvents),
    onError: console.error,
  });
  return () => stream.dispose();
}

await play({
  agents,
  createAgent: async (slug) => (await createAgent(slug)).createAgent,
  follow,
  more: { pages: () => everyPage(2) },
});
