// Starts the dashboard: signs in, finds the page that the address names, and draws.

import { h, patch } from './dom.js';
import { perFrame } from './frames.js';
import { Live } from './live.js';
import { OpenPage } from './page.js';
import { pages } from './pages.js';
import signInPage from './pages/sign_in.js';
import { empty, linkButton, skeleton, toast, troubled } from './parts.js';
import { here, match, to } from './router.js';
import { session, signIn, signOut, storedKey } from './session.js';
import { shell } from './shell.js';

const TICK_MS = 20_000;  // relative times grow old
const WAITING = '{ attention(first: 1, where: { status: { eq: OPEN } }) { totalCount } }';
const WAITING_EVENTS = `subscription Waiting($after: Cursor) {
  attentionEvents(after: $after) { __typename ... on Event { cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

const root = document.getElementById('app');
const frame = { pages, menu: false };
let open = null;
let attention = null;
let signing = { busy: false, trouble: null };

const redraw = perFrame(draw);
frame.set = (changes) => {
  Object.assign(frame, changes);
  redraw();
};
frame.leave = () => leave();

async function enter(key) {
  signing = { busy: true, trouble: null };
  redraw();
  try {
    await signIn(key, { onState: redraw, onRefused: () => leave('The key no longer works. It was revoked or has expired.') });
    signing = { busy: false, trouble: null };
    if (session.can('READ_EVENTS')) watchAttention();
    if (session.viewer.expiresSoon) toast({ text: 'This key expires soon.', detail: 'Ask an admin for a new one.', tone: 'wait' });
    route();
  } catch (trouble) {
    signOut();
    signing = { busy: false, trouble };
  }
  redraw();
}

function watchAttention() {
  const spec = { query: WAITING, stream: WAITING_EVENTS };
  attention = new Live({ api: session.api, socket: session.socket, spec, redraw });
}

function leave(reason) {
  if (!session) return;
  open?.end();
  attention?.end();
  [open, attention] = [null, null];
  signOut();
  if (reason) signing = { busy: false, trouble: { message: reason, next: 'Sign in with another.' } };
  redraw();
}

function route() {
  if (!session) return redraw();
  const { path, query } = here();
  const found = match(pages, path);
  const same = open && found && open.page === found.page && JSON.stringify(open.params) === JSON.stringify(found.params);
  if (same) return open.retarget(query);
  open?.end();
  open = found && allowed(found.page) ? new OpenPage({ ...found, query, session, redraw }) : null;
  frame.menu = false;
  frame.current = found?.page;
  frame.missing = found ? null : path;
  scrollTo(0, 0);
  draw();
  return document.getElementById('main')?.focus({ preventScroll: true });
}

const allowed = (page) => !page.needs || session.can(page.needs);

function draw() {
  if (!session) {
    document.title = 'Sign in · Parley';
    patch(root, signInPage.view({ ...signing, restoring: signing.busy && storedKey(), enter }));
    return;
  }
  frame.session = session;
  frame.waiting = attention?.data?.attention.totalCount ?? 0;
  frame.title = open?.title ?? 'Not found';
  document.title = `${frame.title} · ${session.viewer.team.name} · Parley`;
  patch(root, shell(frame, content()));
}

function content() {
  if (frame.missing) return empty({ title: 'There is no such page', text: frame.missing, action: linkButton('To the overview', to('/')) });
  if (!open) return empty({ icon: 'team', title: 'Your key may not see this page', text: 'Ask an admin of the team for a key with more rights.', action: linkButton('To the overview', to('/')) });
  const { live, page } = open;
  if (live && live.data === null) return live.trouble ? troubled(live.trouble, () => open.reload()) : skeleton();
  return h('div', { class: `page page-${page.name ?? ''}`, key: page.path },
    live?.trouble && h('p', { class: 'notice tone-wait', role: 'alert' }, live.trouble.message, ' ', live.trouble.next),
    page.view(open.data, open));
}

addEventListener('hashchange', route);
setInterval(redraw, TICK_MS);
if (storedKey()) enter(storedKey());
else redraw();
