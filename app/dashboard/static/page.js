// One page while it is open: its data, its own state, and what a view may do. A page's module describes; this acts.

import { appendConnection, Live } from './live.js';
import { toast } from './parts/toast.js';
import { at, put } from './paths.js';
import { replaceQuery } from './router.js';
import { Trouble } from './trouble.js';

export class OpenPage {
  constructor({ page, params, query, session, redraw }) {
    Object.assign(this, { page, params, query, redraw, session, api: session.api, viewer: session.viewer });
    this.can = session.can;
    this.state = { ...page.state };
    this.live = null;
    this.busy = new Set();
    this.#target();
  }

  /** What the query answered; null until then. */
  get data() {
    return this.live?.data ?? null;
  }

  get title() {
    const { title } = this.page;
    return typeof title === 'function' ? title(this.data, this) : title;
  }

  /** Change the page's own state and draw it. */
  set(changes) {
    Object.assign(this.state, changes);
    this.redraw();
  }

  /** Change the query of the address, from which the page's data may be chosen. */
  setQuery(changes) {
    replaceQuery({ ...this.query, ...changes });
  }

  reload() {
    return this.live?.reload();
  }

  /** The address has another query now: read other data if the page's data depend on it; show the old meanwhile. */
  retarget(query) {
    this.query = query;
    this.#target();
    this.redraw();
  }

  /**
   * Run a mutation for a button: answers its payload, or null after telling what was refused. `done` is the toast's
   * text, `name` tells buttons apart while they wait (see isBusy).
   */
  async act(change, input, { done, name = change.field, quiet = false } = {}) {
    if (this.busy.has(name)) return null;
    this.busy.add(name);
    this.redraw();
    try {
      const payload = await this.api.act(change, input);
      if (done) toast({ text: done, tone: 'good' });
      this.reload();
      return payload;
    } catch (error) {
      const trouble = Trouble.of(error);
      if (quiet) throw trouble;
      toast({ text: trouble.message, detail: trouble.next, tone: 'bad' });
      return null;
    } finally {
      this.busy.delete(name);
      this.redraw();
    }
  }

  isBusy(name) {
    return this.busy.has(name);
  }

  /** The next page of a connection in the data, such as 'tasks' or 'task.tree'; the query takes `$after` (or `cursor`) for it. */
  async more(name, cursor = 'after') {
    const { live } = this;
    const { query, variables } = live.spec;
    const after = at(this.data, name).pageInfo.endCursor;
    this.busy.add(`more ${name}`);
    this.redraw();
    try {
      const next = await this.api.ask(query, { ...variables, [cursor]: after });
      live.data = put(live.data, name, appendConnection(at(live.data, name), at(next, name)));
      live.further.set(name, cursor);
    } catch (error) {
      toast({ text: Trouble.of(error).message, detail: Trouble.of(error).next, tone: 'bad' });
    } finally {
      this.busy.delete(`more ${name}`);
      this.redraw();
    }
  }

  end() {
    this.page.leave?.(this);
    this.live?.end();
  }

  #target() {
    const spec = this.page.data?.(this) ?? null;
    if (!spec) return;
    const target = JSON.stringify([spec.query, spec.variables, spec.stream, spec.streamVariables]);
    if (target === this.target) return;
    this.target = target;
    const shown = this.live?.data ?? null;
    this.live?.end();
    this.live = new Live({ api: this.api, socket: this.session.socket, spec, redraw: this.redraw });
    this.live.data = spec.keep === false ? null : shown;
  }
}
