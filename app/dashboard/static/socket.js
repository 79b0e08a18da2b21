// All subscriptions on one WebSocket (graphql-transport-ws), each resumed after its last cursor when it breaks.

import { GRAPHQL } from './api.js';
import { fromErrors } from './trouble.js';

const PING_MS = 20_000;
const SILENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 10_000;
const REFUSED = 4403;
const ADDRESS = Object.assign(new URL(GRAPHQL), { protocol: GRAPHQL.protocol.replace('http', 'ws') });

/** `state` is 'idle', 'connecting', 'catching up', 'live', 'reconnecting' or 'refused'; `onState` hears changes. */
export class Socket {
  #streams = new Map();
  #number = 0;
  #failures = 0;
  #socket = null;
  #ready = false;
  #timers = {};

  constructor(key, onState = () => {}) {
    this.key = key;
    this.onState = onState;
    this.state = 'idle';
    addEventListener('online', this.#wake);
    document.addEventListener('visibilitychange', this.#wake);
  }

  /**
   * Follow a subscription that takes `$after`. `handlers`: next(item) for events, caughtUp(), gap(item), error(trouble).
   * Answers a function that ends it.
   */
  follow(query, variables, handlers) {
    const stream = { id: String((this.#number += 1)), query, variables, handlers, after: variables.after, live: false };
    this.#streams.set(stream.id, stream);
    if (this.#ready) this.#subscribe(stream);
    else if (!this.#socket) this.#connect();
    this.#tell();
    return () => this.#leave(stream);
  }

  close() {
    removeEventListener('online', this.#wake);
    document.removeEventListener('visibilitychange', this.#wake);
    this.#streams.clear();
    this.#quiet();
    this.#socket?.close(1000);
    this.#socket = null;
    this.#set('idle');
  }

  #connect() {
    clearTimeout(this.#timers.retry);
    this.#set(this.#failures ? 'reconnecting' : 'connecting');
    const socket = new WebSocket(ADDRESS, 'graphql-transport-ws');
    this.#socket = socket;
    socket.onopen = () => this.#send({ type: 'connection_init', payload: { Authorization: `Bearer ${this.key}` } });
    socket.onmessage = ({ data }) => socket === this.#socket && this.#receive(JSON.parse(data));
    socket.onclose = ({ code }) => socket === this.#socket && this.#closed(code);
    this.#timers.silence = setTimeout(() => this.#drop(), SILENCE_MS);
  }

  #receive(message) {
    clearTimeout(this.#timers.silence);
    const stream = this.#streams.get(message.id);
    if (message.type === 'connection_ack') this.#opened();
    else if (message.type === 'ping') this.#send({ type: 'pong' });
    else if (message.type === 'next' && stream) this.#deliver(stream, message.payload);
    else if (message.type === 'error' && stream) this.#fail(stream, message.payload);
    else if (message.type === 'complete' && stream) this.#streams.delete(stream.id);
  }

  #opened() {
    this.#ready = true;
    this.#timers.ping = setInterval(() => this.#ping(), PING_MS);
    for (const stream of this.#streams.values()) this.#subscribe(stream);
    this.#tell();
  }

  #subscribe(stream) {
    stream.live = false;
    const variables = { ...stream.variables, after: stream.after };
    this.#send({ id: stream.id, type: 'subscribe', payload: { query: stream.query, variables } });
  }

  #deliver(stream, payload) {
    if (payload.errors) return this.#fail(stream, payload.errors);
    const [item] = Object.values(payload.data);
    if (item.cursor) stream.after = item.cursor;
    if (item.__typename === 'CaughtUp') {
      stream.live = true;
      this.#failures = 0;
      stream.handlers.caughtUp?.(item);
    } else if (item.__typename === 'Gap') stream.handlers.gap?.(item);
    else stream.handlers.next?.(item);
    return this.#tell();
  }

  #fail(stream, errors) {
    const trouble = fromErrors(errors);
    // A place that the log has forgotten, or never had, as after a restore: start from now, and read the state anew.
    if (trouble.code === 'INVALID_CURSOR') {
      stream.after = undefined;
      stream.handlers.gap?.({});
      this.#subscribe(stream);
      return;
    }
    this.#streams.delete(stream.id);
    stream.handlers.error?.(trouble);
    this.#tell();
  }

  #leave(stream) {
    if (!this.#streams.delete(stream.id)) return;
    if (this.#ready) this.#send({ id: stream.id, type: 'complete' });
    this.#tell();
  }

  #closed(code) {
    this.#quiet();
    this.#socket = null;
    for (const stream of this.#streams.values()) stream.live = false;
    if (code === REFUSED) return this.#set('refused');
    this.#failures += 1;
    const longest = Math.min(LONGEST_PAUSE_MS, 150 * 2 ** this.#failures);
    this.#timers.retry = setTimeout(() => this.#connect(), longest * (0.3 + 0.7 * Math.random()));
    return this.#set('reconnecting');
  }

  #drop() {
    const socket = this.#socket;
    if (!socket) return;
    socket.onclose = null;
    socket.close();
    this.#closed(1006);
  }

  #ping() {
    this.#send({ type: 'ping' });
    clearTimeout(this.#timers.silence);
    this.#timers.silence = setTimeout(() => this.#drop(), SILENCE_MS);
  }

  /** Back from sleep or with a network again: do not wait for the clock. */
  #wake = () => {
    if (document.hidden) return;
    if (this.#ready) this.#ping();
    else if (!this.#socket && this.state === 'reconnecting') this.#connect();
  };

  #quiet() {
    this.#ready = false;
    clearInterval(this.#timers.ping);
    clearTimeout(this.#timers.silence);
    clearTimeout(this.#timers.retry);
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #tell() {
    if (!this.#ready) return;
    const behind = [...this.#streams.values()].some((stream) => !stream.live);
    this.#set(behind ? 'catching up' : 'live');
  }

  #set(state) {
    if (state === this.state) return;
    this.state = state;
    this.onState(state);
  }
}
