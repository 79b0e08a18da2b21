// What the filter matches, to take away: as a file, or as the query that gives it.

import { h } from '../../dom.js';
import { copyButton, dialog, download, button, toast } from '../../parts.js';
import { Trouble, fromErrors } from '../../trouble.js';

const MOST_ROWS = 50_000;
const MOST_BYTES = 60_000_000;
const FORMATS = { csv: 'text/csv', ndjson: 'application/x-ndjson' };
const EXPORT = new URL('export', document.baseURI);

/** A document for notebooks: the filter stands in it, so that it runs as it is. */
export const documentOf = (where) => `query Decisions {
  routingDecisions(first: ${MOST_ROWS}, where: ${literal(where)}, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    nodes {
      id createdAt query mode reason strategy confidence threshold k skillFloor fallbackUsed
      selectedAgent { slug name } tier suggestedTier tierOverrideReason model complexity { overall }
      routerLatencyMs gateLatencyMs responseSeconds estimatedCost actualCost outcome rating conversationId
    }
  }
}`;

const ENUMS = new Set(['strategy', 'reason', 'mode', 'outcome']);

/** GraphQL's own notation: names without quotes, enum values too. */
function literal(value, name = '') {
  if (value === null || typeof value !== 'object') return ENUMS.has(name) && typeof value === 'string' ? value : JSON.stringify(value);
  const fields = Object.entries(value).filter(([, one]) => one !== undefined).map(([key, one]) => `${key}: ${literal(one, ENUMS.has(name) ? name : key)}`);
  return fields.length ? `{ ${fields.join(', ')} }` : '{}';
}

export function takeAway(page, where) {
  const query = documentOf(where);
  return dialog({ title: 'Take the decisions away', class: 'wide', onclose: () => page.set({ taking: false }) },
    h('div', { class: 'take-away' },
      h('p', null, `All that the filter matches, newest first, at most ${MOST_ROWS.toLocaleString('en')}.`),
      h('div', { class: 'take-away-actions' }, Object.keys(FORMATS).map((format) => button(`Save as ${format.toUpperCase()}`, () => save(page, query, format), { key: format, kind: 'primary', busy: page.isBusy(`save ${format}`) }))),
      h('p', null, 'The same by the API: send this to /graphql for a page (first: 100), to /export for all rows.'),
      h('pre', { class: 'code', tabindex: '0', 'aria-label': 'GraphQL query' }, query),
      h('div', null, copyButton(query, { label: 'Copy the query' }))));
}

async function save(page, query, format) {
  page.busy.add(`save ${format}`);
  page.redraw();
  try {
    const blob = await fetched(page.api.key, query, format);
    download(`routing-${new Date().toISOString().slice(0, 16).replaceAll(':', '')}.${format}`, blob);
    page.set({ taking: false });
  } catch (error) {
    const trouble = Trouble.of(error);
    toast({ text: trouble.message, detail: trouble.next, tone: 'bad' });
  } finally {
    page.busy.delete(`save ${format}`);
    page.redraw();
  }
}

/** The key travels in a header, never in an address. A file that is cut off, or too large for a tab, is not saved. */
async function fetched(key, query, format) {
  const headers = { 'Content-Type': 'application/json', Accept: FORMATS[format], Authorization: `Bearer ${key}` };
  const response = await fetch(EXPORT, { method: 'POST', headers, body: JSON.stringify({ query }), credentials: 'omit', cache: 'no-store' });
  if (!response.ok) throw fromErrors((await response.json()).errors);
  const parts = [];
  let bytes = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts, { type: FORMATS[format] });
    bytes += value.length;
    if (bytes > MOST_BYTES) {
      await reader.cancel();
      throw new Trouble('TOO_LARGE', 'These are too many rows for a browser: narrow the filter, or send the query to /export with curl.');
    }
    parts.push(value);
  }
}
