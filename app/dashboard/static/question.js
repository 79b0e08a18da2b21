// A question beside a page's own data, such as a search or a forecast: the last one asked counts, those before it are
// cancelled. What was answered stays to be seen until the next answer.

import { Trouble } from './trouble.js';

export class Question {
  data = null;
  trouble = null;
  busy = false;
  #asked = null;
  #stop = null;
  #timer = null;

  constructor(page) {
    this.page = page;
  }

  /** Ask after a pause, unless another question comes in it. */
  ask(query, variables = {}, { afterMs = 0 } = {}) {
    this.cancel();
    const stop = new AbortController();
    this.#stop = stop;
    this.#asked = JSON.stringify(variables);
    this.busy = true;
    this.#timer = setTimeout(() => this.#run(query, variables, stop.signal), afterMs);
    this.page.redraw();
  }

  /** Ask unless just this was asked last. For views, which are drawn often. */
  keep(query, variables = {}, options = {}) {
    if (this.#asked !== JSON.stringify(variables)) this.ask(query, variables, options);
    return this;
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#stop?.abort();
    this.busy = false;
  }

  async #run(query, variables, signal) {
    try {
      const data = await this.page.api.ask(query, variables, { signal });
      if (signal.aborted) return;
      [this.data, this.trouble] = [data, null];
    } catch (error) {
      if (signal.aborted) return;
      this.trouble = Trouble.of(error);
    }
    this.busy = false;
    this.page.redraw();
  }
}

/** The page's question of this name; pages end theirs with endQuestions() when they are left. */
export function questionOf(page, name) {
  page.questions ??= new Map();
  if (!page.questions.has(name)) page.questions.set(name, new Question(page));
  return page.questions.get(name);
}

export function endQuestions(page) {
  for (const question of page.questions?.values() ?? []) question.cancel();
}
