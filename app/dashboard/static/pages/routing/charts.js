// What the filter matches, in figures and charts. The database reckons them; nothing is counted here.

import { h } from '../../dom.js';
import { count, duration, money, percent, plural, words } from '../../format.js';
import { bar, card, columns, figure, hue, lines, range, skeleton, troubled } from '../../parts.js';

const TIME = 'key { createdAtHour createdAtDay createdAtWeek }';
const MOST_SERIES = 8;
const HUES = 12;

export const CHARTS = `query RoutingCharts($where: RoutingDecisionFilter, $bucket: RoutingDecisionGroupBy!) {
  all: routingDecisions(where: $where) { aggregates {
    count confidence { mean } fallbackUsed { share trueCount } actualCost { sum count } estimatedCost { sum } rating { mean count }
    routerLatencyMs { p50: percentile(p: 0.5) p95: percentile(p: 0.95) } responseSeconds { p50: percentile(p: 0.5) p95: percentile(p: 0.95) }
  } }
  selections: routingDecisions(where: $where) { groupedAggregates(first: 400, groupBy: [$bucket, SELECTED_AGENT]) {
    hasMore groups { count key { createdAtHour createdAtDay createdAtWeek selectedAgent { id name } } }
  } }
  times: routingDecisions(where: $where) { groupedAggregates(first: 120, groupBy: [$bucket]) { groups {
    ${TIME} confidence { mean } actualCost { sum } estimatedCost { sum }
    routerLatencyMs { p50: percentile(p: 0.5) p95: percentile(p: 0.95) p99: percentile(p: 0.99) }
  } } }
  agents: routingDecisions(where: $where) { groupedAggregates(first: 30, groupBy: [SELECTED_AGENT]) { groups {
    count key { selectedAgent { id name } } fallbackUsed { share trueCount } actualCost { sum mean } rating { mean count }
    confidence { low: percentile(p: 0.1) middle: percentile(p: 0.5) high: percentile(p: 0.9) }
    responseSeconds { p50: percentile(p: 0.5) p95: percentile(p: 0.95) }
  } } }
  strategies: routingDecisions(where: $where) { groupedAggregates(first: 10, groupBy: [STRATEGY]) { groups {
    count key { strategy } fallbackUsed { share trueCount }
  } } }
  models: routingDecisions { groupedAggregates(first: 20, groupBy: [MODEL]) { groups { key { model } } } }
}`;

export const modelsOf = (data) => data?.models.groupedAggregates.groups.map((group) => group.key.model) ?? [];

/** `other` tells that the charts on the screen are still those of another filter, if the question is open. */
export function charts(question, bucket, other) {
  const { data, trouble } = question;
  if (!data) return trouble ? troubled(trouble) : skeleton(2);
  if (data.all.aggregates.count === 0) return null;
  const buckets = timesOf(data, bucket);
  return h('div', { class: ['charts', other && question.busy && 'is-stale'] },
    totals(data.all.aggregates),
    selections(data, buckets),
    latency(data, buckets),
    confidence(data),
    cost(data, buckets),
    fallbacks(data));
}

function totals(all) {
  return card({ class: 'totals' }, h('div', { class: 'figures' },
    figure(count(all.count), 'decisions'),
    figure(percent(all.confidence.mean), 'mean confidence'),
    figure(percent(all.fallbackUsed.share), 'fell back', { tone: all.fallbackUsed.share > 0.2 ? 'wait' : undefined }),
    figure(ms(all.routerLatencyMs.p50), 'median to decide'),
    figure(duration(all.responseSeconds.p50), 'median to answer'),
    figure(money(all.actualCost.sum), 'told cost'),
    figure(stars(all.rating.mean), `of 5, ${plural(all.rating.count, 'decision')} rated`)));
}

/** 0 to 1 as stars, as people gave them. */
export const stars = (rating) => (rating === null || rating === undefined ? '–' : (1 + 4 * rating).toFixed(1));
export const ms = (value) => (value === null || value === undefined ? '–' : value > 0 && value < 10 ? `${value.toFixed(1)} ms` : value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`);

const momentOf = (key) => key.createdAtHour ?? key.createdAtDay ?? key.createdAtWeek;
const STEPS_MS = { CREATED_AT_HOUR: 3_600_000, CREATED_AT_DAY: 86_400_000, CREATED_AT_WEEK: 604_800_000 };
const SHOWN = {
  CREATED_AT_HOUR: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }),
  CREATED_AT_DAY: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
  CREATED_AT_WEEK: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
};

/** Every step from the first to the last with something in it, so that quiet times show as gaps; the newest 120. */
function timesOf(data, bucket) {
  const found = data.times.groupedAggregates.groups.map((group) => new Date(momentOf(group.key)).getTime()).sort((a, b) => a - b);
  const from = Math.max(found[0], found.at(-1) - 119 * STEPS_MS[bucket]);
  const steps = [];
  for (let at = from; at <= found.at(-1); at += STEPS_MS[bucket]) steps.push(at);
  return { at: new Map(steps.map((step, index) => [step, index])), texts: steps.map((step) => SHOWN[bucket].format(step)), unit: words(bucket.slice(11)).toLowerCase() };
}

function spread(groups, buckets, value) {
  const values = buckets.texts.map(() => null);
  for (const group of groups) {
    const index = buckets.at.get(new Date(momentOf(group.key)).getTime());
    if (index !== undefined) values[index] = (values[index] ?? 0) + (value(group) ?? 0);
  }
  return values;
}

/** Each agent in its own colour, unless another of the chart has it or the next one: then in the one farthest from all others. */
function looks(agents) {
  const taken = [];
  const distance = (one) => Math.min(...taken.map((other) => Math.min(Math.abs(one - other), HUES - Math.abs(one - other))));
  const farthest = () => Array.from({ length: HUES }, (_, index) => index).sort((a, b) => distance(b) - distance(a))[0];
  return new Map(agents.map((agent) => {
    if (!agent) return [null, 'tone-calm'];
    const wanted = taken.length && distance(hue(agent.id)) < 2 ? farthest() : hue(agent.id);
    taken.push(wanted);
    return [agent.id, `hue-${wanted}`];
  }));
}

function selections(data, buckets) {
  const { groups, hasMore } = data.selections.groupedAggregates;
  const agents = data.agents.groupedAggregates.groups.map((group) => group.key.selectedAgent);
  const look = looks(agents);
  const shown = new Set(agents.slice(0, MOST_SERIES).map((agent) => agent?.id ?? null));
  const idOf = (group) => group.key.selectedAgent?.id ?? null;
  const series = agents.slice(0, MOST_SERIES).map((agent) => ({ name: agent?.name ?? 'Nobody', look: look.get(agent?.id ?? null), values: spread(groups.filter((group) => idOf(group) === (agent?.id ?? null)), buckets, (group) => group.count) }));
  const rest = groups.filter((group) => !shown.has(idOf(group)));
  if (rest.length) series.push({ name: 'Others', look: 'tone-calm', values: spread(rest, buckets, (group) => group.count) });
  return card({ title: 'Selections', subtitle: `First choices a ${buckets.unit}${hasMore ? '; the smallest groups are left out' : ''}`, class: 'chart-wide' },
    columns({ label: `First choices of each agent, by ${buckets.unit}`, buckets: buckets.texts, series, format: count }));
}

function latency(data, buckets) {
  const { groups } = data.times.groupedAggregates;
  const series = [['Median', 'p50', 'tone-good'], ['95 %', 'p95', 'tone-wait'], ['99 %', 'p99', 'tone-bad']].map(([name, p, look]) => ({ name, look, values: spread(groups, buckets, (group) => group.routerLatencyMs[p]) }));
  return card({ title: 'Time to decide', subtitle: 'Which share of the decisions took no longer' }, lines({ label: `Latency of routing, by ${buckets.unit}`, buckets: buckets.texts, series, format: ms }));
}

function confidence(data) {
  return card({ title: 'Confidence', subtitle: 'From the 10th to the 90th percentile; the mark is the median' },
    h('div', { class: 'bars' }, data.agents.groupedAggregates.groups.map((group) => h('div', { key: group.key.selectedAgent?.id ?? '' },
      range({ ...group.confidence, label: group.key.selectedAgent?.name ?? 'Nobody', value: group.confidence.middle?.toFixed(2) ?? '–' })))));
}

function cost(data, buckets) {
  const { groups } = data.times.groupedAggregates;
  const series = [['Told', 'actualCost', 'tone-accent'], ['Estimated', 'estimatedCost', 'tone-calm']].map(([name, part, look]) => ({ name, look, values: spread(groups, buckets, (group) => Number(group[part].sum ?? 0)) }));
  return card({ title: 'Cost', subtitle: 'What answers cost as far as it was told, and what all were estimated to' }, lines({ label: `Cost by ${buckets.unit}`, buckets: buckets.texts, series, format: money }));
}

function fallbacks(data) {
  const rows = (name, part, text) => [
    h('h3', { key: name, class: 'bars-title' }, name),
    data[part].groupedAggregates.groups.map((group) => h('div', { key: `${name} ${text(group.key)}` },
      bar(group.fallbackUsed.share, { label: text(group.key), tone: 'wait', value: `${percent(group.fallbackUsed.share)} of ${count(group.count)}` }))),
  ];
  return card({ title: 'Fallbacks', subtitle: 'Decisions in which nobody fitted, so that the default agent, or nobody, stepped in' },
    h('div', { class: 'bars' }, rows('By agent', 'agents', (key) => key.selectedAgent?.name ?? 'Nobody'), rows('By strategy', 'strategies', (key) => words(key.strategy))));
}
