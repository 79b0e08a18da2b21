import { createHash } from 'node:crypto';
import { ApolloClient, HttpLink, InMemoryCache, gql, split } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { getMainDefinition } from '@apollo/client/utilities';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { resume } from './resume.mjs';
import { AUTHORIZATION, PARLEY_URL, SOCKET_URL, play } from './story.mjs';

const headers = { authorization: AUTHORIZATION };
const socket = resume(
  createClient({
    url: SOCKET_URL,
    webSocketImpl: WebSocket,
    connectionParams: headers,
    retryAttempts: Infinity,
    retryWait: () => new Promise((retry) => setTimeout(retry, 50)),
    shouldRetry: () => true,
  }),
);
const isSubscription = ({ query }) => getMainDefinition(query).operation === 'subscription';
// Without it Apollo's cache drops what is selected by an interface, such as `... on Refusal`.
async function possibleTypes() {
  const query = '{ __schema { types { name possibleTypes { name } } } }';
  const post = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify({ query }) };
  const { data } = await (await fetch(PARLEY_URL, post)).json();
  const abstract = data.__schema.types.filter((type) => type.possibleTypes);
  return Object.fromEntries(abstract.map((type) => [type.name, type.possibleTypes.map(({ name }) => name)]));
}

const client = new ApolloClient({
  cache: new InMemoryCache({ possibleTypes: await possibleTypes() }),
  link: split(isSubscription, new GraphQLWsLink(socket), new HttpLink({ uri: PARLEY_URL, headers })),
});

// Automatic persisted queries: the hash alone by GET, and once the whole query by POST when the server knows it not.
const sent = [];
const persisted = new ApolloClient({
  cache: new InMemoryCache(),
  defaultOptions: { query: { fetchPolicy: 'network-only' } },
  link: new PersistedQueryLink({
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    useGETForHashedQueries: true,
  }).concat(
    new HttpLink({
      uri: PARLEY_URL,
      headers,
      fetch: async (url, options) => {
        const answer = await fetch(url, options);
        sent.push([options.method, /query (Agents|ByHash)/.test(options.body ?? url), answer.status]);
        return answer;
      },
    }),
  ),
});

await play({
  agents: async () => (await client.query({ query: gql(AGENTS) })).data.agents,
  createAgent: async (slug) => (await client.mutate({ mutation: gql(CREATE_AGENT), variables: { slug } })).data.createAgent,
  follow: (after, next) => {
    const stream = client.subscribe({ query: gql(TEAM_EVENTS), variables: { after } }).subscribe({
      next: ({ data, error }) => (error ? console.error(error) : next(data.teamEvents)),
      error: console.error,
    });
    return () => stream.unsubscribe();
  },
  more: {
    persisted: async () => {
      const query = gql('query ByHash($slug: String!) { agent(slug: $slug) { slug } }');
      for (const slug of [process.env.PARLEY_SLUG, 'nobody']) {
        const { data } = await persisted.query({ query, variables: { slug } });
        sent.push(data.agent?.slug ?? null);
      }
      return sent;
    },
  },
});
