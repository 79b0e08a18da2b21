// Wheel, pointer, touch and keys on the lanes.

const ZOOM = 1.4;
const PAN = 0.15;
const CLICK_PX = 4;

/** Binds a chart's canvas; answers a function that lets it go. */
export function steer(chart) {
  const stop = new AbortController();
  const on = (type, handler, options) => chart.canvas.addEventListener(type, handler, { signal: stop.signal, ...options });
  on('wheel', (event) => wheel(chart, event), { passive: false });
  on('keydown', (event) => press(chart, event));
  on('pointerleave', () => chart.hover(undefined));
  pointers(chart, on);
  return () => stop.abort();
}

/** Zoom in or out around the middle, or around the present while it is followed. */
export function zoomBy(chart, factor) {
  const { from, to } = chart.window.range(chart.bounds);
  chart.window.zoom(factor, chart.window.follows ? to : (from + to) / 2, chart.bounds);
  chart.moved();
}

export function fit(chart) {
  chart.window.fit();
  chart.moved();
}

export function toggleFollow(chart) {
  chart.window.follow(chart.bounds);
  chart.moved();
}

function panBy(chart, ms) {
  chart.window.pan(ms, chart.bounds);
  chart.moved();
}

function perPx(chart) {
  const { from, to } = chart.window.range(chart.bounds);
  return (to - from) / chart.canvas.clientWidth;
}

function wheel(chart, event) {
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
  if (!event.ctrlKey && !sideways) return;
  event.preventDefault();
  if (event.ctrlKey) {
    chart.window.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), chart.moment(event.offsetX), chart.bounds);
    chart.moved();
  } else panBy(chart, sideways * perPx(chart));
}

/** One pointer drags or clicks, two zoom. */
function pointers(chart, on) {
  const held = new Map();
  let travelled = 0;
  on('pointerdown', (event) => {
    held.set(event.pointerId, event.offsetX);
    travelled = 0;
    chart.canvas.setPointerCapture(event.pointerId);
  });
  on('pointermove', (event) => {
    if (!held.has(event.pointerId)) return chart.hover(chart.at(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
    const before = held.get(event.pointerId);
    const step = event.offsetX - before;
    travelled += Math.abs(step);
    if (held.size === 2) pinch(chart, held, event);
    else if (travelled > CLICK_PX) panBy(chart, -step * perPx(chart));
    held.set(event.pointerId, event.offsetX);
    return undefined;
  });
  const lift = (event) => {
    const wasClick = held.size === 1 && travelled <= CLICK_PX && event.type === 'pointerup';
    held.delete(event.pointerId);
    const span = wasClick && chart.at(event.offsetX, event.offsetY);
    if (!span) return;
    chart.choose(span);
    chart.open(span.taskId);
  };
  on('pointerup', lift);
  on('pointercancel', lift);
}

function pinch(chart, held, event) {
  const other = [...held].find(([id]) => id !== event.pointerId)[1];
  const [before, now] = [Math.abs(held.get(event.pointerId) - other), Math.abs(event.offsetX - other)];
  if (before < 10 || now < 10) return;
  chart.window.zoom(before / now, chart.moment((other + event.offsetX) / 2), chart.bounds);
  chart.moved();
}

function press(chart, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = event.shiftKey && PANS[event.key] ? PANS[event.key] : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(chart);
}

const PANS = {
  ArrowLeft: (chart) => panBy(chart, -PAN * perPx(chart) * chart.canvas.clientWidth),
  ArrowRight: (chart) => panBy(chart, PAN * perPx(chart) * chart.canvas.clientWidth),
};

const KEYS = {
  '+': (chart) => zoomBy(chart, 1 / ZOOM),
  '=': (chart) => zoomBy(chart, 1 / ZOOM),
  '-': (chart) => zoomBy(chart, ZOOM),
  0: fit,
  f: toggleFollow,
  ArrowRight: (chart) => beside(chart, 1),
  ArrowLeft: (chart) => beside(chart, -1),
  ArrowDown: (chart) => across(chart, 1),
  ArrowUp: (chart) => across(chart, -1),
  Home: (chart) => chart.choose(chart.spans.laidOut().all[0]),
  End: (chart) => chart.choose(chart.spans.laidOut().all.at(-1)),
  Enter: (chart) => chart.chosen && chart.open(chart.chosen),
  ' ': (chart) => chart.chosen && chart.open(chart.chosen),
};

/** The next or former span of the same agent. */
function beside(chart, way) {
  const { lanes, all } = chart.spans.laidOut();
  const chosen = chart.spans.byTask.get(chart.chosen);
  if (!chosen) return chart.choose(all[0]);
  const { spans } = lanes.find((lane) => lane.agentId === chosen.agentId);
  return chart.choose(spans[spans.findIndex((span) => span.taskId === chosen.taskId) + way] ?? chosen);
}

/** The span of the next agent with work that began nearest. */
function across(chart, way) {
  const { lanes, all } = chart.spans.laidOut();
  const chosen = chart.spans.byTask.get(chart.chosen);
  if (!chosen) return chart.choose(all[0]);
  const place = lanes.findIndex((lane) => lane.agentId === chosen.agentId);
  const others = way > 0 ? lanes.slice(place + 1) : lanes.slice(0, place).reverse();
  const lane = others.find((one) => one.spans.length);
  const nearest = lane?.spans.toSorted((a, b) => Math.abs(a.begin - chosen.begin) - Math.abs(b.begin - chosen.begin))[0];
  return chart.choose(nearest ?? chosen);
}
