// Draws spans, arrows and the scale of time on a canvas, in the colours of the page.

import { duration } from '../../format.js';
import { spanTone } from './spans.js';

const TONES = ['good', 'busy', 'wait', 'bad', 'calm'];
const STEPS_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200];
const LABEL_PX = 90;
const LEAST_PX = 5;
const MOST_ARROWS = 500;
const MANY = 300;
const REMEMBERED = 5_000;
const widths = new Map();  // of names, each measured once: measuring all of them at each frame is slow

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const tones = Object.fromEntries(TONES.map((tone) => [tone, { ink: of(tone), soft: of(`${tone}-soft`) }]));
  return { tones, line: of('line'), ink: of('ink'), quiet: of('ink-quiet'), accent: of('accent'), surface: of('surface'), sunken: of('sunken'), font: style.getPropertyValue('--sans') };
}

/** Seconds from the session's start, at round distances. */
export function ticks({ from, to, width, origin }) {
  const perPx = (to - from) / width / 1000;
  const step = STEPS_S.find((one) => one / perPx >= LABEL_PX) ?? Math.ceil((perPx * LABEL_PX) / 86_400) * 86_400;
  const first = Math.ceil((from - origin) / 1000 / step);
  const found = [];
  for (let number = first; origin + number * step * 1000 <= to; number += 1) found.push({ at: origin + number * step * 1000, seconds: number * step });
  return found;
}

/** What does not fit before the edge is left out: half a figure is another figure. */
export function paintAxis(pen, look, marks, x, width) {
  pen.font = `12px ${look.font}`;
  pen.fillStyle = look.quiet;
  pen.textBaseline = 'middle';
  for (const { at, seconds } of marks) {
    const text = seconds <= 0 ? 'Start' : duration(seconds).replace('.0 s', ' s');
    const left = Math.max(2, x(at) + 4);
    if (left + pen.measureText(text).width <= width) pen.fillText(text, left, 14);
  }
}

export function paintGrid(pen, look, marks, x, size, lanes) {
  pen.lineWidth = 1;
  pen.strokeStyle = look.line;
  pen.beginPath();
  for (const { at } of marks) line(pen, Math.round(x(at)) + 0.5, 0, Math.round(x(at)) + 0.5, size.height);
  for (const { top } of lanes.slice(1)) line(pen, 0, Math.round(top) + 0.5, size.width, Math.round(top) + 0.5);
  pen.stroke();
}

export function paintNow(pen, look, at, height) {
  pen.strokeStyle = look.accent;
  pen.lineWidth = 1.5;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  line(pen, at, 0, at, height);
  pen.stroke();
  pen.setLineDash([]);
}

/** `boxes` have { span, left, right, top, height, room }: where a span lies, and how far its name may reach. */
export function paintSpans(pen, look, boxes, { chosen, hovered }) {
  const paint = boxes.length > MANY ? paintPlainly : paintTone;
  for (const tone of TONES) paint(pen, look.tones[tone], tone, boxes.filter((box) => spanTone(box.span) === tone));
  pen.font = `550 12px ${look.font}`;
  pen.textBaseline = 'middle';
  for (const box of boxes) if (box.height >= 15) paintName(pen, look, box);
  for (const box of boxes) if (box.span.taskId === chosen || box.span.taskId === hovered) paintFrame(pen, look, box, box.span.taskId === chosen);
}

/** Of many, none is large enough for round corners; plain rectangles are drawn many times faster than paths. */
function paintPlainly(pen, { ink, soft }, tone, boxes) {
  pen.fillStyle = soft;
  for (const box of boxes) pen.fillRect(box.left, box.top, box.right - box.left, box.height);
  pen.fillStyle = ink;
  for (const box of boxes) pen.fillRect(box.left, box.top, Math.min(2, box.right - box.left), box.height);
}

function paintTone(pen, { ink, soft }, tone, boxes) {
  if (!boxes.length) return;
  pen.fillStyle = soft;
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const box of boxes) pen.roundRect(box.left, box.top, box.right - box.left, box.height, Math.min(4, box.height / 3));
  pen.fill();
  if (tone === 'wait') pen.setLineDash([3, 3]);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = ink;
  pen.beginPath();
  for (const box of boxes) pen.rect(box.left, box.top, Math.min(3, box.right - box.left), box.height);
  pen.fill();
  pen.globalAlpha = 0.6;  // from when it was ordered to when it was taken up
  pen.beginPath();
  for (const box of boxes) if (box.ordered < box.left - 1) line(pen, box.ordered, box.top + box.height / 2, box.left, box.top + box.height / 2);
  pen.stroke();
  pen.globalAlpha = 1;
}

function paintName(pen, look, { span, left, right, top, height, room }) {
  const inside = right - left >= 48;
  const space = inside ? right - left - 14 : room - right - 10;
  if (space < 24) return;
  pen.fillStyle = inside ? look.tones[spanTone(span)].ink : look.quiet;
  const text = fitted(pen, span.name, space);
  if (text.length > 2) pen.fillText(text, inside ? left + 9 : right + 6, top + height / 2 + 0.5);
}

/** As much of the text as fits, by a guess at the width of letters first. */
function fitted(pen, text, space) {
  const likely = text.slice(0, Math.ceil(space / 4));
  if (likely.length === text.length && widthOf(pen, text) <= space) return text;
  let length = Math.min(likely.length, Math.floor(space / 6.5));
  while (length > 2 && widthOf(pen, `${text.slice(0, length)}…`) > space) length -= 1;
  return `${text.slice(0, length).trimEnd()}…`;
}

function widthOf(pen, text) {
  if (widths.has(text)) return widths.get(text);
  if (widths.size >= REMEMBERED) widths.clear();
  const { width } = pen.measureText(text);
  widths.set(text, width);
  return width;
}

function paintFrame(pen, look, { left, right, top, height }, isChosen) {
  pen.strokeStyle = isChosen ? look.accent : look.quiet;
  pen.lineWidth = isChosen ? 2.5 : 1.5;
  pen.beginPath();
  pen.roundRect(left - 2, top - 2, right - left + 4, height + 4, 6);
  pen.stroke();
}

/** Curves from lane to lane; of too many only those of the chosen and the hovered span. `arrows`: { x, from, to, kind, taskId }, `at` where it reaches later. */
export function paintArrows(pen, look, arrows, marked) {
  const shown = arrows.length > MOST_ARROWS ? arrows.filter((arrow) => marked.has(arrow.taskId)) : arrows;
  for (const kind of ['handed', 'asked', 'delegated', 'answered']) {
    const mine = shown.filter((arrow) => arrow.kind === kind);
    stroke(pen, mine.filter((arrow) => !marked.has(arrow.taskId)), arrowLook(look, kind, false));
    stroke(pen, mine.filter((arrow) => marked.has(arrow.taskId)), arrowLook(look, kind, true));
  }
}

function arrowLook(look, kind, isMarked) {
  const colour = kind === 'answered' ? look.tones.good.ink : kind === 'delegated' ? look.tones.busy.ink : look.quiet;
  return { colour, alpha: isMarked ? 1 : 0.55, width: isMarked ? 2 : 1.2, dashed: kind === 'answered' };
}

function stroke(pen, arrows, { colour, alpha, width, dashed }) {
  if (!arrows.length) return;
  Object.assign(pen, { strokeStyle: colour, fillStyle: colour, globalAlpha: alpha, lineWidth: width });
  pen.setLineDash(dashed ? [4, 3] : []);
  pen.beginPath();
  for (const { x, from, to, at } of arrows) {
    if (at === undefined) curve(pen, x, from, to);
    else pass(pen, x, from, at, to);
  }
  pen.stroke();
  pen.setLineDash([]);
  pen.beginPath();
  for (const { x, from, to, at } of arrows) {
    if (at === undefined) head(pen, x, to, Math.sign(to - from) || 1);
    else point(pen, at, to);
  }
  pen.fill();
  pen.globalAlpha = 1;
}

function curve(pen, x, from, to) {
  const bend = Math.min(14, Math.abs(to - from) / 4, Math.max(3, x - 2));  // not out of the picture
  pen.moveTo(x, from);
  pen.bezierCurveTo(x - bend, from + (to - from) / 3, x - bend, to - (to - from) / 3, x, to);
}

/** From the end of one span to the beginning of another. */
function pass(pen, x1, y1, x2, y2) {
  const bend = Math.max(12, Math.abs(x2 - x1) / 2);
  pen.moveTo(x1, y1);
  pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
}

function point(pen, x, y) {
  pen.moveTo(x, y);
  pen.lineTo(x - 7, y - 4);
  pen.lineTo(x - 7, y + 4);
  pen.closePath();
}

function head(pen, x, y, way) {
  pen.moveTo(x, y);
  pen.lineTo(x - 4.5, y - 6 * way);
  pen.lineTo(x + 2.5, y - 7 * way);
  pen.closePath();
}

function line(pen, x1, y1, x2, y2) {
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
}

export const leastWidth = (left, right) => Math.max(right, left + LEAST_PX);
