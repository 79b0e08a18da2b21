// A small line or columns over time, with its meaning in words for those who do not see it.

import { h } from '../dom.js';

const WIDTH = 120;
const HEIGHT = 32;

/** sparkline([1, 4, 2], { label: 'Tasks a day, the last week: 1, 4, 2' }). */
export function sparkline(values, { label, width = WIDTH, height = HEIGHT } = {}) {
  const most = Math.max(...values, 1);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`);
  return h('svg', { class: 'sparkline', role: 'img', 'aria-label': label, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none' },
    h('polygon', { points: `0,${height} ${points.join(' ')} ${width},${height}`, class: 'spark-area' }),
    h('polyline', { points: points.join(' '), class: 'spark-line' }));
}
