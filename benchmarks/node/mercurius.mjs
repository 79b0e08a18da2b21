// mercurius with graphql-jit, loaders and a pg pool: the usual fast GraphQL server on Node.
import Fastify from 'fastify';
import mercurius from 'mercurius';
import pg from 'pg';

const team = process.env.TEAM_ID;
// pg parses "host" in the query string as the folder of the Unix socket.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, options: '-c jit=off' });
const hex = (id) => id.replaceAll('-', '');
const agentOf = (row) => row && {
  key: row.id, id: `agent_${hex(row.id)}`, slug: row.slug, name: row.name, tagline: row.tagline, role: row.role,
  status: row.status.toUpperCase(), type: row.type.toUpperCase(), modelTier: row.model_tier,
};
// Named statements are prepared once per connection.
const rows = async (name, text, values) => (await pool.query({ name, text, values })).rows;

const schema = `
  enum AgentStatus { ACTIVE PAUSED ARCHIVED }
  enum AgentType { GENERAL ARCHITECT DEVELOPER REVIEWER TESTER DOCUMENTER SECURITY OPTIMIZER CUSTOM }
  enum GroupBy { STATUS TYPE }
  type Skill { name: String! description: String! }
  type Agent { id: ID! slug: String! name: String! tagline: String! role: String! status: AgentStatus!
    type: AgentType! modelTier: Int! skills: [Skill!]! }
  type HandoffRule { id: ID! condition: String! priority: Int! fromAgent: Agent toAgent: Agent }
  type PageInfo { hasNextPage: Boolean! }
  type HandoffRuleConnection { nodes: [HandoffRule!]! pageInfo: PageInfo! }
  type Team { id: ID! name: String! handoffRules(first: Int!): HandoffRuleConnection! }
  type GroupKey { status: AgentStatus type: AgentType }
  type Figures { mean: Float max: Float }
  type Group { key: GroupKey! count: Int! modelTier: Figures! }
  type AgentConnection { groupedAggregates(groupBy: [GroupBy!]!, first: Int!): [Group!]! }
  type Query { agent(slug: String!): Agent team: Team! agents: AgentConnection! }
`;

const resolvers = {
  Query: {
    agent: async (_, { slug }) =>
      agentOf((await rows('agent', 'select * from agent where team_id = $1 and slug = $2', [team, slug]))[0]),
    team: async () => {
      const [row] = await rows('team', 'select * from team where id = $1', [team]);
      return { key: row.id, id: `team_${hex(row.id)}`, name: row.name };
    },
    agents: () => ({}),
  },
  Team: {
    handoffRules: async (parent, { first }) => {
      const text = 'select * from handoff_rule where team_id = $1 order by id limit $2';
      const rules = await rows('rules', text, [parent.key, first + 1]);
      const nodes = rules.slice(0, first).map((row) => ({
        id: `rule_${hex(row.id)}`, condition: row.condition, priority: row.priority,
        from: row.from_agent_id, to: row.to_agent_id,
      }));
      return { nodes, pageInfo: { hasNextPage: rules.length > first } };
    },
  },
  AgentConnection: {
    groupedAggregates: async (_, { groupBy, first }) => {
      const keys = groupBy.map((by) => by.toLowerCase());
      const text = `select ${keys}, count(*)::int, avg(model_tier)::float8 as mean, max(model_tier) from agent
        where team_id = $1 group by ${keys} order by count(*) desc limit $2`;
      return (await rows(`groups-${keys}`, text, [team, first])).map((row) => ({
        key: { status: row.status?.toUpperCase(), type: row.type?.toUpperCase() },
        count: row.count, modelTier: { mean: row.mean, max: row.max },
      }));
    },
  },
};

const agentsByKey = async (keys) => {
  const agents = await rows('agents', 'select * from agent where id = any($1)', [keys]);
  const byKey = new Map(agents.map((row) => [row.id, agentOf(row)]));
  return keys.map((key) => byKey.get(key) ?? null);
};
const loaders = {
  HandoffRule: {
    fromAgent: (queries) => agentsByKey(queries.map(({ obj }) => obj.from)),
    toAgent: (queries) => agentsByKey(queries.map(({ obj }) => obj.to)),
  },
  Agent: {
    skills: async (queries) => {
      const keys = queries.map(({ obj }) => obj.key);
      const text = 'select agent_id, name, description from agent_skill where agent_id = any($1) order by position';
      const byAgent = new Map(keys.map((key) => [key, []]));
      for (const row of await rows('skills', text, [keys])) byAgent.get(row.agent_id).push(row);
      return keys.map((key) => byAgent.get(key));
    },
  },
};

const app = Fastify();
app.register(mercurius, { schema, resolvers, loaders, jit: 1 });
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
