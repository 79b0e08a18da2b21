// The filter of routing decisions as it stands in the address, and what it means to the API. Nothing here draws.

export const WINDOWS = [['-P1D', 'Last day'], ['-P7D', 'Last 7 days'], ['-P30D', 'Last 30 days'], ['-P90D', 'Last 90 days'], ['all', 'All time'], ['own', 'From … until …']];
export const STRATEGIES = ['TOP_1', 'TOP_K', 'ENSEMBLE', 'CASCADE'];
export const REASONS = ['SKILL_MATCH', 'USER_MENTION', 'HANDOFF', 'DEFAULT'];
export const MODES = ['GATE', 'ROUTER', 'DIRECT'];
export const TIERS = [['0', '0, small'], ['1', '1, medium'], ['2', '2, large']];
export const OUTCOMES = ['ANSWERED', 'REDIRECTED', 'FAILED'];

const FURTHER = ['strategy', 'tier', 'model', 'reason', 'mode', 'fallback', 'outcome', 'low', 'high', 'conversation'];
const ALL = ['window', 'from', 'until', 'agent', 'words', ...FURTHER];
const DAY_MS = 86_400_000;
const CONVERSATION = /^conversation_[0-9a-f]{32}$/;

export const windowOf = (query) => (WINDOWS.some(([value]) => value === query.window) ? query.window : '-P7D');

/** How many of the filters that are folded away are set. */
export const furtherSet = (query) => FURTHER.filter((name) => query[name]).length;
export const isFiltered = (query) => ALL.some((name) => query[name]);
export const cleared = () => Object.fromEntries(ALL.map((name) => [name, undefined]));

/** What keeps a filter from being understood, by field; a wrong field is left out of the filter. */
export function problemsOf(query) {
  const found = {};
  for (const name of ['low', 'high']) if (query[name] && share(query[name]) === null) found[name] = 'A number from 0 to 1.';
  if (share(query.low) !== null && share(query.high) !== null && share(query.low) > share(query.high)) found.high = 'Not below the other bound.';
  if (query.conversation && !CONVERSATION.test(query.conversation)) found.conversation = 'An id, conversation_ and 32 digits.';
  for (const name of ['from', 'until']) if (query[name] && !moment(query[name])) found[name] = 'A date and time.';
  return found;
}

/** RoutingDecisionFilter; only what is set, so that the query reads well when it is copied. */
export function whereOf(query) {
  const wrong = problemsOf(query);
  const given = (name) => (query[name] && !wrong[name] ? query[name] : null);
  const is = (name, value = given(name)) => (given(name) ? { eq: value } : undefined);
  const where = {
    createdAt: createdAt(query, given),
    selectedAgentId: query.agent === 'nobody' ? { isNull: true } : is('agent'),
    queryWords: given('words') ? { match: query.words } : undefined,
    strategy: is('strategy'),
    tier: is('tier', Number(query.tier)),
    model: is('model'),
    reason: is('reason'),
    mode: is('mode'),
    outcome: is('outcome'),
    fallbackUsed: is('fallback', query.fallback === 'yes'),
    confidence: between(share(given('low')), share(given('high'))),
    conversationId: is('conversation'),
  };
  return Object.fromEntries(Object.entries(where).filter(([, value]) => value !== undefined));
}

function createdAt(query, given) {
  const chosen = windowOf(query);
  if (chosen === 'all') return undefined;
  if (chosen !== 'own') return { gte: chosen };
  const bounds = { gte: given('from') ? moment(query.from) : undefined, lt: given('until') ? moment(query.until) : undefined };
  return bounds.gte || bounds.lt ? bounds : undefined;
}

function between(low, high) {
  if (low === null && high === null) return undefined;
  return { ...(low === null ? {} : { gte: low }), ...(high === null ? {} : { lte: high }) };
}

function share(text) {
  const value = text === undefined || text === null || text === '' ? NaN : Number(text);
  return value >= 0 && value <= 1 ? value : null;
}

/** What a local date and time of an input means, in UTC; null when it means nothing. */
function moment(local) {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** By what the charts group time, so that a chart has some dozen columns. */
export function bucketOf(query, now = Date.now()) {
  const chosen = windowOf(query);
  if (chosen === 'own') return byLength((query.until ? new Date(query.until) : now) - (query.from ? new Date(query.from) : 0));
  return { '-P1D': 'CREATED_AT_HOUR', '-P7D': 'CREATED_AT_DAY', '-P30D': 'CREATED_AT_DAY' }[chosen] ?? 'CREATED_AT_WEEK';
}

const byLength = (ms) => (ms <= 2 * DAY_MS ? 'CREATED_AT_HOUR' : ms <= 62 * DAY_MS ? 'CREATED_AT_DAY' : 'CREATED_AT_WEEK');
