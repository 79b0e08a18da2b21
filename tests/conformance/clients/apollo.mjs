import { createHash } from 'node:crypto';
import { ApolloClient, HttpLink, InMemoryCache, gql, split } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { getMainDefinition } from '@apollo/client/utilities';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { socket } from './socket.mjs';
import { AUTHORIZATION, PARLEY_SLUG, PARLEY_URL, play } from './story.mjs';

// Without it Apollo's cache drops what is selected on an interface, such as `... on Refusal`.
async function possibleTypes() {
  const body = JSON.stringify({ query: '{ __schema { types { name possibleTypes { name } } } }' });
  const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' };
  const { data } = await (await fetch(PARLEY_URL, { method: 'POST', headers, body })).json();
  const abstract = data.__schema.types.filter((type) => type.possibleTypes);
  return Object.fromEntries(abstract.map((type) => [type.name, type.possibleTypes.map(({ name }) => name)]));
}

const isSubscription = ({ query }) => getMainDefinition(query).operation === 'subscription';
const http = new HttpLink({ uri: PARLEY_URL, headers: { authorization: AUTHORIZATION } });
const client = new ApolloClient({
  cache: new InMemoryCache({ possibleTypes: await possibleTypes() }),
  link: split(isSubscription, new GraphQLWsLink(socket), http),
});

const persistedQueries = new PersistedQueryLink({
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
  useGETForHashedQueries: true,
});

function follow(after, next) {
  const stream = client.subscribe({ query: gql(TEAM_EVENTS), variables: { after } }).subscribe({
    next: ({ data, error }) => (error ? console.error(error) : next(data.teamEvents)),
    error: console.error,
  });
  return () => stream.unsubscribe();
}

// The method, whether the query's text went along, and the answer's status of each request; and what came of them.
async function persisted() {
  const seen = [];
  const recorded = async (url, options) => {
    const answer = await fetch(url, options);
    seen.push([options.method, `${url}${options.body}`.includes('ByHash($slug'), answer.status]);
    return answer;
  };
  const link = persistedQueries.concat(
    new HttpLink({ uri: PARLEY_URL, headers: { authorization: AUTHORIZATION }, fetch: recorded }),
  );
  const byHash = new ApolloClient({ cache: new InMemoryCache(), link });
  const query = gql('query ByHash($slug: String!) { agent(slug: $slug) { slug } }');
  for (const slug of [PARLEY_SLUG, 'nobody']) {
    const { data } = await byHash.query({ query, variables: { slug } });
    seen.push(data.agent?.slug ?? null);
  }
  return seen;
}

await play({
  agents: async () => (await client.query({ query: gql(AGENTS) })).data.agents,
  createAgent: async (slug) =>
    (await client.mutate({ mutation: gql(CREATE_AGENT), variables: { slug } })).data.createAgent,
  follow,
  more: { persisted },
});
