import { createClient } from 'graphql-sse';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { pause, resume } from './resume.mjs';
import { AUTHORIZATION, PARLEY_URL, play } from './story.mjs';

const client = resume(
  createClient({
    url: PARLEY_URL,
    headers: { authorization: AUTHORIZATION },
    retryAttempts: Infinity,
    retry: pause,
  }),
);

const ask = (query, variables) =>
  new Promise((next, error) => client.subscribe({ query, variables }, { next, error, complete() {} }));

const follow = (after, next) =>
  client.subscribe(
    { query: TEAM_EVENTS, variables: { after } },
    { next: ({ data }) => next(data.teamEvents), error: console.error, complete() {} },
  );

await play({
  agents: async () => (await ask(AGENTS)).data.agents,
  createAgent: async (slug) => (await ask(CREATE_AGENT, { slug })).data.createAgent,
  follow,
});
