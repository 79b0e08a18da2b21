// How often pages may read by themselves, so that a busy team does not eat up the points of its key: what people do
// comes out of the same purse. Pure but for what it remembers.

const EVERY_MS = 600;
const AT_ONCE = 3;
const HEADER = /r=(\d+);t=(\d+)/;
const LIMIT = /q=(\d+)/;

/** What a key has left, as the server tells it with every answer. One for each key. */
export class Purse {
  #left = Infinity;
  #limit = 0;
  #price = 0;
  #backAt = 0;

  /** The headers `RateLimit` ("default";r=points left;t=seconds until all are back) and `RateLimit-Policy` (…;q=points). */
  hear(state, policy, now) {
    const [, left, seconds] = HEADER.exec(state ?? '') ?? [];
    if (left === undefined) return;
    this.#price = Number(left) < this.#left ? this.#left - Number(left) : this.#price;
    this.#left = Number(left);
    this.#backAt = now + Number(seconds) * 1000;
    this.#limit = Number(LIMIT.exec(policy ?? '')?.[1] ?? 0);
  }

  /** Milliseconds to leave between two readings: none while half of the points is there, then half of the rest is kept. */
  pause(now) {
    if (this.#left > this.#limit / 2 || now >= this.#backAt) return 0;
    return Math.min(this.#backAt - now, ((this.#backAt - now) * this.#price) / Math.max(1, this.#left / 2));
  }
}

/** When one page may read next: three times in a row at once, and every 600 ms in the long run. */
export class Pace {
  #last = -Infinity;
  #due = 0;  // when all that was read had been read at one every 600 ms

  constructor(purse) {
    this.purse = purse;
  }

  read(now) {
    this.#last = now;
    this.#due = Math.max(this.#due, now) + EVERY_MS;
  }

  /** Milliseconds from now. */
  wait(now) {
    const spaced = this.#due - (AT_ONCE - 1) * EVERY_MS;
    return Math.max(0, spaced - now, this.#last + this.purse.pause(now) - now);
  }
}
