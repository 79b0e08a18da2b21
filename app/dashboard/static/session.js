// Who is signed in, for as long as the browser's tab lives: the key is kept in sessionStorage and nowhere else.

import { Api } from './api.js';
import { Socket } from './socket.js';

const STORED = 'parley.key';
const VIEWER = `query Viewer {
  viewer { name role permissions expiresAt expiresSoon team { id name slug } agent { id name } }
}`;

/** null, or { api, socket, viewer, can(permission) }. */
export let session = null;

/** Take a key up; raises Trouble when it does not work. `onState` hears the socket, `onRefused` that the key died. */
export async function signIn(key, { onState, onRefused }) {
  const api = new Api(key, onRefused);
  const { viewer } = await api.ask(VIEWER, {}, { tries: 2 });
  const held = new Set(viewer.permissions);
  const heard = (state) => (state === 'refused' ? onRefused() : onState(state));
  sessionStorage.setItem(STORED, key);
  session = { api, viewer, socket: new Socket(key, heard), can: (permission) => held.has(permission) };
  return session;
}

export function signOut() {
  sessionStorage.removeItem(STORED);
  session?.socket.close();
  session = null;
}

export const storedKey = () => sessionStorage.getItem(STORED);
