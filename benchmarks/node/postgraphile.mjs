// PostGraphile 5 over the same tables: it too compiles a whole operation into SQL.
import { createServer } from 'node:http';
import { PgAggregatesPreset } from '@graphile/pg-aggregates';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

// PostGraphile asks for Node 22; this is all of it that Node 20 lacks.
Promise.withResolvers ??= () => {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

const preset = {
  extends: [PostGraphileAmberPreset, PgAggregatesPreset],
  disablePlugins: ['PgIndexBehaviorsPlugin'], // else relations and groups without an index of their own are hidden
  schema: { pgSimpleCollections: 'both', defaultBehavior: '+list' },
  grafserv: { graphiql: false, websockets: false },
  grafast: { explain: false },
  pgServices: [
    makePgService({
      connectionString: process.env.DATABASE_URL,
      schemas: ['public'],
      poolConfig: { max: 10, options: '-c jit=off' },
    }),
  ],
};
const server = createServer();
const serv = postgraphile(preset).createServ(grafserv);
await serv.addTo(server);
server.listen(Number(process.env.PORT), '127.0.0.1');
