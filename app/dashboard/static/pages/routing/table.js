// The decisions as rows.

import { h } from '../../dom.js';
import { cut, duration, money, words } from '../../format.js';
import { agentLink, badge, bar, status, table, time } from '../../parts.js';
import { to } from '../../router.js';
import { ms, stars } from './charts.js';

export const ROW = `id query createdAt mode reason strategy confidence threshold tier suggestedTier model fallbackUsed
  routerLatencyMs responseSeconds estimatedCost actualCost outcome rating selectedAgent { id name }`;

const COLUMNS = [
  { name: 'Message', wide: true, value: (row) => h('span', { class: 'message' }, cut(row.query, 110), h('small', null, time(row.createdAt))) },
  { name: 'Agent', value: (row) => agentLink(row.selectedAgent) },
  { name: 'Confidence', value: (row) => h('div', { class: 'confidence' }, bar(row.confidence, { value: row.confidence.toFixed(2), tone: row.fallbackUsed ? 'wait' : 'accent' })) },
  { name: 'Why', value: (row) => h('span', { class: 'two-lines' }, row.fallbackUsed ? badge('Fallback', 'wait') : words(row.reason), h('small', { title: row.model }, `${words(row.mode)}, ${words(row.strategy)}, tier ${row.tier}${row.tier === row.suggestedTier ? '' : ` not ${row.suggestedTier}`}`)) },
  { name: 'Took', align: 'end', value: (row) => h('span', { class: 'two-lines' }, ms(row.routerLatencyMs), row.responseSeconds !== null && h('small', null, `+ ${duration(row.responseSeconds)}`)) },
  { name: 'Cost', align: 'end', value: (row) => (row.actualCost === null ? h('span', { class: 'quiet', title: 'Estimated' }, `≈ ${money(row.estimatedCost)}`) : money(row.actualCost)) },
  { name: 'Result', value: (row) => h('span', { class: 'two-lines' }, row.outcome ? status(row.outcome) : h('span', { class: 'quiet' }, 'not told'), row.rating !== null && h('small', null, `${stars(row.rating)} of 5`)) },
];

export function decisions(rows) {
  return table({ label: 'Routing decisions', columns: COLUMNS, rows, href: (row) => to('/routing/:id', { id: row.id }) });
}
