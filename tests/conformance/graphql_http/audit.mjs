// Runs every audit of graphql-http against the address in argv[2] with the key in PARLEY_KEY; prints one JSON array.
import { serverAudits } from 'graphql-http';

const authorization = `Bearer ${process.env.PARLEY_KEY}`;
const fetchFn = (url, options = {}) => fetch(url, { ...options, headers: { ...options.headers, authorization } });
const results = [];
for (const { id, name, fn } of serverAudits({ url: process.argv[2], fetchFn })) {
  const { status, reason } = await fn();
  results.push({ id, name, status, reason: reason ?? null });
}
console.log(JSON.stringify(results));
