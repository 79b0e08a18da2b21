// The lanes on their canvas: what is where, what the pointer and the keys do. Drawn when something changed or time moved.

import { clockTime, duration, money, words } from '../../format.js';
import { theme } from '../../look.js';
import { colours, leastWidth, paintArrows, paintAxis, paintGrid, paintNow, paintSpans, ticks } from './paint.js';
import { isOpen } from './spans.js';
import { steer } from './steering.js';
import { TimeWindow } from './window.js';

const PAD = 8;
const AXIS = 28;
const ROW_HEIGHTS = [24, 24, 20, 18];
const LEAST_ROW = 13;
const LEAST_LANE = 48;

export const laneHeight = (rows) => Math.max(LEAST_LANE, rows * rowHeight(rows) + 2 * PAD);
const rowHeight = (rows) => ROW_HEIGHTS[rows - 1] ?? LEAST_ROW;

export class Chart {
  window = new TimeWindow();
  chosen = null;
  hovered = null;
  #frame = 0;
  #drawnAt = 0;
  #dirty = true;
  #look = null;
  #places = [];
  #version = -1;
  #follows = true;

  /** `open(taskId)` shows a span's detail, `say(text)` tells screen readers, `changed()` redraws the buttons. */
  constructor(canvas, { axis, tip, open, say, changed }) {
    Object.assign(this, { canvas, axis, tip, open, say, changed });
    this.spans = null;
    this.isRunning = false;
    this.#watcher = new ResizeObserver(() => this.ask());
    this.#watcher.observe(canvas.parentElement);
    this.#ends = steer(this);
  }

  #watcher;
  #ends;

  /** What to show from now on. Pages are drawn more often than their spans change. */
  show({ spans, names, isRunning }) {
    const isSame = spans === this.spans && spans.version === this.#version && isRunning === this.isRunning && this.#look?.theme === theme();
    Object.assign(this, { spans, names, isRunning });
    this.#version = spans.version;
    if (!isSame) this.ask();
  }

  ask() {
    this.#dirty = true;
    this.#frame ||= requestAnimationFrame(this.#tick);
  }

  /** The window shows another time now: the lanes are drawn, and the page only where its buttons say so. */
  moved() {
    this.ask();
    if (this.#follows === this.window.follows) return;
    this.#follows = this.window.follows;
    this.changed();
  }

  end() {
    cancelAnimationFrame(this.#frame);
    this.#watcher.disconnect();
    this.#ends();
  }

  /** From the first order to the present, or to the end. */
  get bounds() {
    const { from, to } = this.spans.laidOut();
    const now = this.spans.now();
    const start = from ?? now;
    return { start, end: this.isRunning ? Math.max(now, to ?? now) : to ?? now };
  }

  /** The span at a place of the canvas; undefined where there is none. */
  at(x, y) {
    const hit = (place) => x >= place.left - 3 && x <= place.right + 3 && y >= place.top - 2 && y <= place.top + place.height + 2;
    return this.#places.findLast(hit)?.span;
  }

  moment(x) {
    const { from, to } = this.window.range(this.bounds);
    return from + ((to - from) * x) / this.canvas.clientWidth;
  }

  choose(span) {
    this.chosen = span?.taskId ?? null;
    if (span) {
      this.window.reveal(span.begin, this.bounds);
      this.say(this.words(span));
    }
    this.moved();
  }

  hover(span, x, y) {
    const id = span?.taskId ?? null;
    this.canvas.classList.toggle('on-span', Boolean(span));
    if (id !== this.hovered) this.ask();
    this.hovered = id;
    this.tip.hidden = !span;
    if (!span) return;
    this.tip.textContent = this.words(span);
    const { clientWidth } = this.canvas;
    this.tip.style.setProperty('left', `${Math.min(x + 12, clientWidth - Math.min(clientWidth, this.tip.offsetWidth + 4))}px`);
    this.tip.style.setProperty('top', `${y + 18}px`);
  }

  words(span) {
    const took = span.started ? duration(((span.end ?? this.spans.now()) - span.started) / 1000) : null;
    const times = span.started ? `from ${clockTime(span.started)}, ${took}` : `ordered at ${clockTime(span.ordered)}`;
    return `${span.name}, ${this.names(span.agentId)}: ${words(span.status).toLowerCase()}, ${times}, ${money(span.cost)}`;
  }

  #tick = () => {
    this.#frame = 0;
    if (!this.spans || !this.canvas.isConnected) return;
    const { from, to } = this.window.range(this.bounds);
    const moved = (Date.now() - this.#drawnAt) / ((to - from) / this.canvas.clientWidth);
    if (this.#dirty || moved >= 1) this.#draw();
    if (this.isRunning) this.#frame = requestAnimationFrame(this.#tick);
  };

  #draw() {
    this.#dirty = false;
    this.#drawnAt = Date.now();
    if (this.#look?.theme !== theme()) this.#look = { ...colours(), theme: theme() };
    const laid = this.spans.laidOut();
    const width = this.canvas.clientWidth;
    const lanes = tops(laid.lanes);
    const size = { width, height: lanes.reduce((sum, lane) => sum + lane.height, 0) };
    const { from, to } = this.window.range(this.bounds);
    const x = (at) => ((at - from) / (to - from)) * width;
    const marks = ticks({ from, to, width, origin: laid.from ?? this.bounds.start });
    paintAxis(this.#pen(this.axis, { width, height: AXIS }), this.#look, marks, x, width);
    const pen = this.#pen(this.canvas, size);
    paintGrid(pen, this.#look, marks, x, size, lanes);
    if (this.isRunning) paintNow(pen, this.#look, x(this.bounds.end), size.height);
    this.#places = this.#placed(lanes, x, width);
    paintSpans(pen, this.#look, this.#places, this);
    paintArrows(pen, this.#look, arrowsOf(laid, lanes, x, width), new Set([this.chosen, this.hovered]));
  }

  #pen(canvas, { width, height }) {
    const scale = devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const pen = canvas.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  /** The boxes of the spans within the window. */
  #placed(lanes, x, width) {
    const now = this.bounds.end;
    return lanes.flatMap((lane) => {
      const room = new Array(lane.rows).fill(width);
      const found = [];
      for (let index = lane.spans.length - 1; index >= 0; index -= 1) {
        const span = lane.spans[index];
        const left = x(span.begin);
        const right = leastWidth(left, x(span.end ?? (isOpen(span) ? now : span.begin)));
        if (right >= -20 && x(span.ordered) <= width) {
          found.push({ span, left: Math.max(left, -20), right: Math.min(right, width + 20), ordered: Math.max(x(span.ordered), -20), top: topOf(lane, span.row), height: rowHeight(lane.rows) - 4, room: room[span.row] });
        }
        room[span.row] = Math.min(left, x(span.ordered));
      }
      return found.reverse();
    });
  }
}

const topOf = (lane, row) => lane.top + (lane.height - lane.rows * rowHeight(lane.rows)) / 2 + row * rowHeight(lane.rows) + 2;

function tops(lanes) {
  let top = 0;
  return lanes.map((lane) => {
    const placed = { ...lane, top, height: laneHeight(lane.rows) };
    top += placed.height;
    return placed;
  });
}

/** Orders and answers between different lanes, within the window. */
function arrowsOf({ all, handoffs }, lanes, x, width) {
  const laneOf = new Map(lanes.map((lane) => [lane.agentId, lane]));
  const middleOf = (span) => topOf(laneOf.get(span.agentId), span.row) + rowHeight(laneOf.get(span.agentId).rows) / 2 - 2;
  const found = [];
  for (const [from, to] of handoffs) {
    const [leaves, reaches] = [leastWidth(x(from.begin), x(from.end)), x(to.begin)];
    if (reaches >= 0 && leaves <= width) found.push({ x: leaves, from: middleOf(from), at: reaches, to: middleOf(to), kind: 'handed', taskId: to.taskId });
  }
  for (const span of all) {
    const lane = laneOf.get(span.agentId);
    const asker = laneOf.get(span.askerId);
    if (!asker || asker === lane) continue;
    const middle = topOf(lane, span.row) + rowHeight(lane.rows) / 2 - 2;
    const edge = asker.top < lane.top ? topOf(lane, span.row) : topOf(lane, span.row) + rowHeight(lane.rows) - 4;
    const there = asker.top + asker.height / 2;
    const asked = x(span.ordered);
    if (asked >= 0 && asked <= width) found.push({ x: asked, from: there, to: asked < x(span.begin) - 6 ? middle : edge, kind: span.delegated ? 'delegated' : 'asked', taskId: span.taskId });
    const answered = span.end === null ? -1 : leastWidth(x(span.begin), x(span.end));
    if (answered >= 0 && answered <= width) found.push({ x: answered, from: edge, to: there, kind: 'answered', taskId: span.taskId });
  }
  return found;
}
