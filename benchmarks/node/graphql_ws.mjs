// The usual subscription server on Node: graphql-ws on ws, with one Valkey subscription per process.
import { createServer } from 'node:http';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { Redis } from 'ioredis';
import { WebSocketServer } from 'ws';

const schema = buildSchema(`
  scalar JSON
  scalar Cursor
  scalar DateTime
  enum EventKind { AGENT_UPDATED }
  type Event { id: ID! kind: EventKind! at: DateTime! actor: String! changes: JSON! cursor: Cursor! }
  type CaughtUp { cursor: Cursor! }
  union StreamItem = Event | CaughtUp
  type Query { ok: Boolean }
  type Subscription { teamEvents: StreamItem! }
`);

const listeners = new Set();
const redis = new Redis(process.env.REDIS_URL);
await redis.subscribe('bench:events');
redis.on('message', (_, text) => {
  const item = { teamEvents: JSON.parse(text) };
  for (const listener of listeners) listener(item);
});

async function* events() {
  const queue = [];
  let wake = () => {};
  const listener = (item) => { queue.push(item); wake(); };
  listeners.add(listener);
  try {
    while (true) {
      while (queue.length) yield queue.shift();
      await new Promise((resolve) => { wake = resolve; });
    }
  } finally {
    listeners.delete(listener);
  }
}
schema.getSubscriptionType().getFields().teamEvents.subscribe = events;

const server = createServer();
const sockets = new WebSocketServer({ server, path: '/graphql' });
useServer(
  { schema, onConnect: ({ connectionParams }) => connectionParams?.authorization === `Bearer ${process.env.API_KEY}` },
  sockets,
  0, // no pings: a busy server would mistake its own delay for a dead client
);
server.listen(Number(process.env.PORT), '127.0.0.1');
