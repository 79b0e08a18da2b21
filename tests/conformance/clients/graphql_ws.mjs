import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { socket } from './socket.mjs';
import { play } from './story.mjs';

const ask = (query, variables) =>
  new Promise((next, error) => socket.subscribe({ query, variables }, { next, error, complete() {} }));

const follow = (after, next) =>
  socket.subscribe(
    { query: TEAM_EVENTS, variables: { after } },
    { next: ({ data }) => next(data.teamEvents), error: console.error, complete() {} },
  );

await play({
  agents: async () => (await ask(AGENTS)).data.agents,
  createAgent: async (slug) => (await ask(CREATE_AGENT, { slug })).data.createAgent,
  follow,
});
