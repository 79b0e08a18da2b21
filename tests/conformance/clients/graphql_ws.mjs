import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { resume } from './resume.mjs';
import { AUTHORIZATION, SOCKET_URL, play } from './story.mjs';

const client = resume(
  createClient({
    url: SOCKET_URL,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: AUTHORIZATION },
    retryAttempts: Infinity,
    retryWait: () => new Promise((retry) => setTimeout(retry, 50)),
    shouldRetry: () => true, // also when no connection comes about
  }),
);

const ask = (query, variables) =>
  new Promise((next, error) => client.subscribe({ query, variables }, { next: (result) => next(result.data), error, complete() {} }));

await play({
  agents: async () => (await ask(AGENTS)).agents,
  createAgent: async (slug) => (await ask(CREATE_AGENT, { slug })).createAgent,
  follow: (after, next) =>
    client.subscribe(
      { query: TEAM_EVENTS, variables: { after } },
      { next: ({ data }) => next(data.teamEvents), error: console.error, complete() {} },
    ),
});
