import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { socket } from './socket.mjs';
import { AUTHORIZATION, PARLEY_URL, play } from './story.mjs';

const client = new Client({
  url: PARLEY_URL,
  fetchOptions: { headers: { authorization: AUTHORIZATION } },
  exchanges: [
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: (operation) => ({
        subscribe: (sink) => ({ unsubscribe: socket.subscribe(operation, sink) }),
      }),
    }),
  ],
});

function follow(after, next) {
  const stream = client
    .subscription(TEAM_EVENTS, { after })
    .subscribe(({ data, error }) => (error ? console.error(error) : next(data.teamEvents)));
  return () => stream.unsubscribe();
}

await play({
  agents: async () => (await client.query(AGENTS, {})).data.agents,
  createAgent: async (slug) => (await client.mutation(CREATE_AGENT, { slug })).data.createAgent,
  follow,
});
