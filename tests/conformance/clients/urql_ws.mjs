import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
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
const client = new Client({
  url: PARLEY_URL,
  preferGetMethod: false,
  fetchOptions: { headers },
  exchanges: [
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: (operation) => ({ subscribe: (sink) => ({ unsubscribe: socket.subscribe(operation, sink) }) }),
    }),
  ],
});

await play({
  agents: async () => (await client.query(AGENTS, {}).toPromise()).data.agents,
  createAgent: async (slug) => (await client.mutation(CREATE_AGENT, { slug }).toPromise()).data.createAgent,
  follow: (after, next) =>
    client.subscription(TEAM_EVENTS, { after }).subscribe(({ data, error }) => (error ? console.error(error) : next(data.teamEvents)))
      .unsubscribe,
});
