// The public API over HTTP: ask() reads, act() changes. Refusals and failures come as Trouble.

import { Purse } from './pace.js';
import { Trouble, fromErrors } from './trouble.js';

const TRIES = 5;
const FIRST_PAUSE_MS = 300;
const PASSING = new Set(['OFFLINE', 'UNAVAILABLE', 'RATE_LIMITED']);

export const GRAPHQL = new URL('graphql', document.baseURI);

/** One per sign-in. `onRefused` is told when the key no longer works. */
export class Api {
  constructor(key, onRefused = () => {}) {
    this.key = key;
    this.purse = new Purse();
    this.onRefused = onRefused;
  }

  /** The data of a query; raises Trouble. Tries again while the server is away, unless `tries` says otherwise. */
  ask(query, variables = {}, { signal, tries = TRIES } = {}) {
    return this.#persist(() => this.#post(query, variables, signal), tries, signal);
  }

  /**
   * The payload of a mutation made by mutation(); a refusal is raised as Trouble. It is sent again under one
   * idempotency key until it was answered, so it happens once although the network breaks.
   */
  async act(change, input = {}) {
    const variables = { input: { ...input, idempotencyKey: input.idempotencyKey ?? newKey() } };
    const data = await this.#persist(() => this.#post(change.document, variables), TRIES);
    const answer = data[change.field];
    if (answer && 'eventCursor' in answer) return answer;
    const { code = 'UNEXPECTED', message = 'The server gave no answer.', problems, ...details } = answer ?? {};
    throw new Trouble(code, message, { problems, details });
  }

  async #persist(send, tries, signal) {
    for (let number = 1; ; number += 1) {
      try {
        return await send();
      } catch (error) {
        if (signal?.aborted || number >= tries || !PASSING.has(error.code)) throw error;
        await pause(Math.max(error.retryAfterS * 1000, FIRST_PAUSE_MS * 2 ** (number - 1)));
      }
    }
  }

  async #post(query, variables, signal) {
    const response = await this.#fetch(JSON.stringify({ query, variables }), signal);
    this.purse.hear(response.headers.get('RateLimit'), response.headers.get('RateLimit-Policy'), Date.now());
    const answer = await response.json().catch(() => null);
    if (answer?.errors) throw this.#told(fromErrors(answer.errors), response);
    if (!response.ok || !answer?.data) throw new Trouble('UNAVAILABLE', `The server answered ${response.status}.`);
    return answer.data;
  }

  async #fetch(body, signal) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.key}` };
    try {
      return await fetch(GRAPHQL, { method: 'POST', headers, body, signal, credentials: 'omit', cache: 'no-store' });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Trouble('OFFLINE', 'The server cannot be reached.');
    }
  }

  #told(trouble, response) {
    trouble.retryAfterS = Number(response.headers.get('Retry-After')) || 0;
    if (trouble.code === 'UNAUTHENTICATED') this.onRefused(trouble);
    return trouble;
  }
}

/** mutation('pauseAgent', 'PauseAgentInput', 'AgentPayload { agent { id status } }'): a document and its field. */
export function mutation(field, inputType, ...selections) {
  const chosen = selections.map((selection) => `... on ${selection}`).join('\n');
  const document = `mutation ${field[0].toUpperCase()}${field.slice(1)}($input: ${inputType}!) {
    ${field}(input: $input) {
      __typename
      ... on Payload { eventCursor }
      ${chosen}
      ... on Refusal { code message }
      ... on InvalidInput { problems { path message } }
    }
  }`;
  return { field, document };
}

/** Not randomUUID, which browsers have only on secure addresses. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms * (0.5 + Math.random() / 2)));
