// The data of a page, kept current: follow the events first, read the state when the stream says "caught up", then let
// each event change the state or have it read anew. So nothing is lost between the two.
//
// A spec has: query, variables; stream, streamVariables (a subscription with $after, or none); fold(data, event) -> data;
// reloads(event) -> whether the state has to be read anew (true without a fold); merge(old, fresh) -> data.
// A fold() that answers the very data that it was given changed nothing that is shown, and nothing is drawn.
// With a `refresh`, the query is read at first and after a gap only, and the lighter refresh (with the same variables)
// in between; merge() then puts it into what is known. What comes again is harmless as long as fold() is: see keepEvent().

import { perFrame } from './frames.js';
import { Pace } from './pace.js';
import { at, put } from './paths.js';
import { Trouble } from './trouble.js';

const SHOW_EVERY_MS = 100;
const PATIENCE_MS = 2_500;
const MOST_WAITING = 500;

export class Live {
  data = null;
  trouble = null;
  loading = true;
  further = new Map();  // connections of which more than the first page is shown, and the variable that reads them on
  #events = [];
  #stale = false;
  #ended = false;
  #busy = null;
  #timer = null;
  #pace;
  #leave = () => {};

  constructor({ api, socket, spec, redraw }) {
    this.api = api;
    this.spec = spec;
    this.redraw = redraw;
    this.#pace = new Pace(api.purse);
    this.#settle = perFrame(() => this.#apply(), SHOW_EVERY_MS);
    if (spec.stream && socket) this.#follow(socket);
    else this.reload();
  }

  /** Read the state anew; at most one reading at a time, and another behind it if something happened meanwhile. */
  reload = () => {
    if (this.#ended) return Promise.resolve();
    if (this.#busy) {
      this.#stale = true;
      return this.#busy.finished;
    }
    const whole = !this.spec.refresh || !this.#isWhole;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#stale = false;
    const stop = new AbortController();
    this.#busy = { stop, finished: this.#read(whole, stop.signal) };
    return this.#busy.finished;
  };

  end() {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#busy?.stop.abort();
    this.#leave();
  }

  #settle;

  #follow(socket) {
    const fallback = setTimeout(this.reload, PATIENCE_MS);  // without a socket there is still something to see
    this.#leave = socket.follow(this.spec.stream, this.spec.streamVariables ?? {}, {
      next: (event) => this.#hear(event),
      caughtUp: () => {
        clearTimeout(fallback);
        if (!this.#isFresh) {
          this.#isWhole = false;  // what was read before, without the stream, may have missed something
          this.reload();
        }
        this.#isFresh = true;
      },
      gap: () => {
        this.#isWhole = false;
        this.reload();
      },
      error: (trouble) => {
        clearTimeout(fallback);
        this.trouble = trouble;
        this.reload();
      },
    });
    const leave = this.#leave;
    this.#leave = () => {
      clearTimeout(fallback);
      leave();
    };
  }

  #isOwn = false;  // whether the data was read here; before, a page may show that of another filter, which is no part of this
  #isWhole = false;  // whether all was read, and each event since was folded into it
  #isFresh = false;  // whether the state was read, or is being read, behind the place where the stream began

  #hear(event) {
    this.#events.push(event);
    if (this.#events.length > MOST_WAITING) {  // a tab in the background, or a long way to catch up: read, do not follow
      this.#events.splice(0, this.#events.length - MOST_WAITING);
      this.#isWhole = false;
      this.#stale = true;
    }
    this.#settle();
  }

  #apply() {
    if (this.#ended || (this.data === null && this.loading) || this.#readsWhole) return;
    const { fold, reloads = () => !fold } = this.spec;
    const events = this.#events.splice(0);
    const before = this.data;
    for (const event of events) {
      if (fold && this.data) this.data = fold(this.data, event) ?? this.data;
      if (reloads(event)) this.#stale = true;
    }
    if (this.#stale && !this.#busy) this.#soon();
    if (this.data !== before) this.redraw();
  }

  #soon() {
    this.#timer ??= setTimeout(this.reload, this.#pace.wait(Date.now()));
  }

  #readsWhole = false;  // events that come meanwhile are folded into what is read, not into what it replaces

  async #read(whole, signal) {
    this.#readsWhole = whole && Boolean(this.spec.refresh);
    this.#isWhole ||= whole;  // a gap while it is read makes it stale again
    try {
      const first = await this.api.ask(whole ? this.spec.query : this.spec.refresh, this.spec.variables ?? {}, { signal });
      const fresh = await this.#readOn(first, signal);
      this.data = this.#isOwn && this.spec.merge ? this.spec.merge(this.data, fresh) : fresh;
      this.#isOwn = true;
      this.trouble = null;
    } catch (error) {
      if (signal.aborted) return;
      if (whole) this.#isWhole = false;
      this.trouble = Trouble.of(error);
    } finally {
      this.#readsWhole = false;
      this.#busy = null;
      this.loading = false;
      this.#pace.read(Date.now());
    }
    this.redraw();
    if (this.#stale) this.#soon();
    if (this.#events.length) this.#settle();
  }

  /** What was read, with the further pages that are shown, so that rows there change and go like those of the first. */
  async #readOn(first, signal) {
    let data = first;
    for (const [name, cursor] of this.further) {
      const shown = at(this.data, name)?.nodes.length ?? 0;
      for (let one = at(data, name); one?.pageInfo.hasNextPage && one.nodes.length < shown; one = at(data, name)) {
        const next = await this.api.ask(this.spec.query, { ...this.spec.variables, [cursor]: one.pageInfo.endCursor }, { signal });
        data = put(data, name, appendConnection(one, at(next, name)));
      }
    }
    return data;
  }
}

/** Events newest first, each once, the newest `most` only: a feed that cannot grow without bound. */
export function keepEvent(events, event, most = 200) {
  if (events.some((one) => one.id === event.id)) return events;
  return [event, ...events].slice(0, most);
}

/** A connection read anew, with the further pages that were loaded before still behind it. */
export function mergeConnection(old, fresh) {
  if (!old || !fresh.pageInfo.hasNextPage || old.nodes.length <= fresh.nodes.length) return fresh;
  const last = old.nodes.findIndex((node) => node.id === fresh.nodes.at(-1)?.id);
  if (last < 0) return fresh;
  const known = new Set(fresh.nodes.map((node) => node.id));
  const behind = old.nodes.slice(last + 1).filter((node) => !known.has(node.id));
  return { ...fresh, nodes: [...fresh.nodes, ...behind], pageInfo: behind.length ? old.pageInfo : fresh.pageInfo };
}

/** A connection with the next page behind it. */
export function appendConnection(old, next) {
  const known = new Set(old.nodes.map((node) => node.id));
  return { ...next, totalCount: next.totalCount ?? old.totalCount, nodes: [...old.nodes, ...next.nodes.filter((node) => !known.has(node.id))] };
}
