// The one story that every client plays, told on standard output as one JSON object a line: a query, a mutation, two
// refusals, and a stream that starts behind the mutation and ends at the agent `the-end`, whatever happens between.
export const { PARLEY_URL, PARLEY_KEY, PARLEY_SLUG } = process.env;
export const SOCKET_URL = PARLEY_URL.replace('http', 'ws');
export const AUTHORIZATION = `Bearer ${PARLEY_KEY}`;

const say = (step, seen) => console.log(JSON.stringify({ step, seen }));

// `agents()` and `createAgent(slug)` answer with their root field. `follow(after, next)` calls `next` with each item of
// the stream and returns how to end it. `more` are further steps by their name.
export async function play({ agents, createAgent, follow, more = {} }) {
  say('query', await agents());
  const created = await createAgent(PARLEY_SLUG);
  say('mutation', created);
  say('conflict', await createAgent(PARLEY_SLUG));
  say('invalid', await createAgent('No Slug'));
  for (const [step, run] of Object.entries(more)) say(step, await run());
  await new Promise((ended) => {
    const end = follow(created.eventCursor, (item) => {
      say('item', item);
      if (item.agent?.slug === 'the-end') ended(end);
    });
  }).then((end) => end());
  say('end', null);
}
