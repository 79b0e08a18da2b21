// Charts over time: stacked columns and lines, drawn as SVG that stretches, with words around it that do not. Every
// chart says in a sentence what it shows, and has its figures as a table for those who read rather than look.

import { h } from '../dom.js';

const WIDTH = 600;
const HEIGHT = 160;
const LINES = 4;

/**
 * columns({ label, buckets: ['Mon', …], series: [{ name, look: 'hue-3', values: [1, …] }], format }): values stand on
 * each other. `look` is a class with a colour: hue-N, or tone-good and the like.
 */
export function columns({ label, buckets, series, format = String }) {
  const totals = buckets.map((_, index) => series.reduce((sum, one) => sum + (one.values[index] ?? 0), 0));
  const top = roundTop(Math.max(...totals, 0));
  const step = WIDTH / Math.max(buckets.length, 1);
  const gap = Math.min(step * 0.25, 10);
  const below = buckets.map(() => 0);
  const bars = series.flatMap((one) => one.values.map((value, index) => {
    if (!value) return null;
    const height = (value / top) * HEIGHT;
    below[index] += height;
    const told = `${buckets[index]}: ${one.name} ${format(value)}`;
    return h('rect', { key: `${one.name} ${index}`, class: `series ${one.look}`, x: index * step + gap / 2, y: HEIGHT - below[index], width: step - gap, height }, h('title', null, told));
  }));
  return frame({ label, buckets, series, format, top }, bars);
}

/** lines({ … as columns }): each series a line of its own; a bucket without a value breaks it. */
export function lines({ label, buckets, series, format = String }) {
  const top = roundTop(Math.max(...series.flatMap((one) => one.values.filter((value) => value !== null)), 0));
  const step = buckets.length > 1 ? WIDTH / (buckets.length - 1) : 0;
  const point = (value, index) => [step ? index * step : WIDTH / 2, HEIGHT - (value / top) * HEIGHT];
  const drawn = series.flatMap((one) => [
    ...stretches(one.values).map((part) => h('polyline', { key: `${one.name} ${part[0]}`, class: `series-line ${one.look}`, points: part.map((index) => point(one.values[index], index).join(',')).join(' ') })),
    ...one.values.map((value, index) => (value === null ? null : dot(one, point(value, index), `${buckets[index]}: ${one.name} ${format(value)}`))),
  ]);
  return frame({ label, buckets, series, format, top }, drawn);
}

/** A point with its value on hover: a stroke of no length, which stays round however the drawing is stretched. */
function dot(one, [x, y], told) {
  return h('path', { key: `${one.name} ${x}`, class: `series-dot ${one.look}`, d: `M${x} ${y}h0` }, h('title', null, told));
}

/** Runs of places that have a value. */
function stretches(values) {
  const runs = [[]];
  values.forEach((value, index) => (value === null ? runs.push([]) : runs.at(-1).push(index)));
  return runs.filter((run) => run.length > 1);
}

/** The least of 1, 2, 3, 4, 5, 6, 8 times a power of ten that is not below: the scale's top. */
function roundTop(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 3, 4, 5, 6, 8, 10].find((times) => times * power >= most) * power;
}

function frame({ label, buckets, series, format, top }, shapes) {
  const marks = Array.from({ length: LINES + 1 }, (_, index) => top * (1 - index / LINES));
  return h('figure', { class: 'chart' },
    h('div', { class: 'chart-body' },
      h('div', { class: 'chart-scale', 'aria-hidden': 'true' }, marks.map((mark, index) => h('span', { key: index }, index % 2 ? '' : format(mark)))),
      h('svg', { class: 'chart-plot', role: 'img', 'aria-label': label, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' },
        marks.map((_, index) => h('line', { key: `mark ${index}`, class: 'chart-mark', x1: 0, x2: WIDTH, y1: (HEIGHT * index) / LINES, y2: (HEIGHT * index) / LINES })),
        shapes),
      h('div', { class: 'chart-times', 'aria-hidden': 'true' }, ends(buckets).map((text, index) => h('span', { key: index }, text)))),
    series.length > 1 && h('ul', { class: 'legend' }, series.map((one) => h('li', { key: one.name }, h('span', { class: `legend-mark ${one.look}` }), one.name))),
    figures({ label, buckets, series, format }));
}

const ends = (buckets) => (buckets.length > 2 ? [buckets[0], buckets[Math.floor((buckets.length - 1) / 2)], buckets.at(-1)] : buckets);

function figures({ label, buckets, series, format }) {
  const value = (one, index) => (one.values[index] === null || one.values[index] === undefined ? '–' : format(one.values[index]));
  return h('details', { class: 'chart-figures' },
    h('summary', null, 'Figures'),
    h('div', { class: 'table-frame', tabindex: '0', role: 'region', 'aria-label': `Figures: ${label}` }, h('table', { class: 'plain-table' },
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'When'), series.map((one) => h('th', { key: one.name, scope: 'col', class: 'end' }, one.name)))),
      h('tbody', null, buckets.map((bucket, index) => h('tr', { key: index }, h('th', { scope: 'row' }, bucket), series.map((one) => h('td', { key: one.name, class: 'end' }, value(one, index)))))))));
}
