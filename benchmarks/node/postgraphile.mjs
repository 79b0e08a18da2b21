// PostGraphile 5 on the same tables: like Parley, it compiles a whole operation into SQL.
import { createServer } from 'node:http';
import { PgAggregatesPreset } from '@graphile/pg-aggregates';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

// PostGraphile requires Node 22; this is the only function that Node 20 lacks.
Promise.withResolvers ??= () => {
  const deferred = {};
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  return deferred;
};

const preset = {
  extends: [PostGraphileAmberPreset, PgAggregatesPreset],
  disablePlugins: ['PgIndexBehaviorsPlugin'], // otherwise relations and groups without an index are hidden
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
