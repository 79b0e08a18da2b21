// Which stretch of time the lanes show: the whole session, or a window that follows the present or stays where it was put.

const LEAST_MS = 20;
const MARGIN = 0.03;

export class TimeWindow {
  width = null;  // milliseconds; null: the whole session
  follows = true;
  #left = 0;

  /** { from, to } in milliseconds, for a session that goes from `start` to `end`. */
  range({ start, end }) {
    const whole = Math.max(LEAST_MS, end - start);
    if (this.width === null) return { from: start - whole * MARGIN, to: end + whole * MARGIN };
    if (this.follows) this.#left = end + this.width * MARGIN - this.width;
    return { from: this.#left, to: this.#left + this.width };
  }

  /** Show more (above 1) or less time; `at` stays where it is, the present where it is followed. */
  zoom(factor, at, bounds) {
    const { from, to } = this.range(bounds);
    const whole = (bounds.end - bounds.start) * (1 + 2 * MARGIN);
    const width = Math.max(LEAST_MS, (to - from) * factor);
    if (width >= whole && bounds.end > bounds.start) return this.fit();
    const share = (at - from) / (to - from);
    this.width = width;
    this.#left = at - share * width;
    if (this.follows && factor < 1 && at < to - (to - from) * 0.2) this.follows = false;
    return undefined;
  }

  pan(ms, bounds) {
    const { from, to } = this.range(bounds);
    this.width = to - from;
    this.follows = false;
    this.#left = Math.max(bounds.start - this.width * 0.8, Math.min(bounds.end - this.width * 0.2, from + ms));
  }

  /** Move as little as shows the moment. */
  reveal(at, bounds) {
    const { from, to } = this.range(bounds);
    if (at < from) this.pan(at - from - (to - from) * 0.1, bounds);
    else if (at > to) this.pan(at - to + (to - from) * 0.1, bounds);
  }

  fit() {
    this.width = null;
    this.follows = true;
  }

  follow(bounds) {
    const { from, to } = this.range(bounds);
    this.width ??= to - from;
    this.follows = !this.follows;
  }
}
