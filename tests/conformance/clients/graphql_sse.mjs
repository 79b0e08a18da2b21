import { createClient } from 'graphql-sse';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { resume } from './resume.mjs';
import { AUTHORIZATION, PARLEY_URL, play } from './story.mjs';

const client = resume(
  createClient({
    url: PARLEY_URL,
    headers: { authorization: AUTHORIZATION },
    retryAttempts: Infinity,
    retry: () => new Promise((again) => setTimeout(again, 50)),
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
