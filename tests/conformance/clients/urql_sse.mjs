import { Client, fetchExchange } from '@urql/core';
import { onEnd, pipe, subscribe } from 'wonka';
import { AGENTS, CREATE_AGENT, TEAM_EVENTS } from './documents.mjs';
import { AUTHORIZATION, PARLEY_URL, play } from './story.mjs';

const client = new Client({
  url: PARLEY_URL,
  fetchSubscriptions: true,
  fetchOptions: { headers: { authorization: AUTHORIZATION } },
  exchanges: [fetchExchange],
});

function follow(after, next) {
  let stopped = false;
  let stream;
  const start = () => {
    stream = pipe(
      client.subscription(TEAM_EVENTS, { after }),
      onEnd(() => stopped || setTimeout(start, 500 * Math.random())),
      subscribe(({ data, error, hasNext }) => {
        if (error) console.error(error);
        if (!data || !hasNext) return; // at the end of a stream urql gives its last item once more
        after = data.teamEvents.cursor;
        next(data.teamEvents);
      }),
    );
  };
  start();
  return () => {
    stopped = true;
    setTimeout(() => stream.unsubscribe()); // urql throws when a stream is left while an item of it is handled
  };
}

await play({
  agents: async () => (await client.query(AGENTS, {})).data.agents,
  createAgent: async (slug) => (await client.mutation(CREATE_AGENT, { slug })).data.createAgent,
  follow,
});
