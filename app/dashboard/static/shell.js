// The frame around every page: navigation, the state of the connection, theme and sign-out.

import { h } from './dom.js';
import { icon } from './icons.js';
import { dialog, iconButton } from './parts.js';
import { to } from './router.js';
import { theme, turnTheme } from './look.js';

const GROUPS = ['', 'Work', 'Needs a person', 'Agents', 'Decisions', 'Settings'];
const ON_PHONES = 4;
const STATES = {
  live: ['good', 'Live'],
  'catching up': ['busy', 'Catching up'],
  connecting: ['busy', 'Connecting'],
  reconnecting: ['wait', 'Reconnecting'],
  idle: ['calm', 'Not following'],
};

/** `frame` has: pages, current (its module), title, session, waiting (open attention items), menu, set(changes), leave(). */
export function shell(frame, content) {
  return [
    h('a', { class: 'skip', href: '#main', onclick: skip }, 'Skip to the content'),
    h('div', { class: 'shell' },
      sidebar(frame),
      h('div', { class: 'stage' },
        topbar(frame),
        h('main', { id: 'main', tabindex: '-1', class: 'main' }, content)),
      bottombar(frame),
      frame.menu && menu(frame)),
  ];
}

function skip(event) {
  event.preventDefault();
  document.getElementById('main').focus();
}

function entries(frame) {
  return frame.pages.filter((page) => page.nav && (!page.needs || frame.session.can(page.needs)));
}

function sidebar(frame) {
  return h('nav', { class: 'sidebar', 'aria-label': 'Pages' },
    h('a', { class: 'brand', href: to('/') }, mark(), h('span', null, 'Parley')),
    GROUPS.map((group) => navGroup(frame, group)),
    h('div', { class: 'sidebar-foot' }, who(frame)));
}

function navGroup(frame, group) {
  const pages = entries(frame).filter((page) => (page.nav.group ?? '') === group);
  if (!pages.length) return null;
  return h('div', { class: 'nav-group', key: group },
    group && h('p', { class: 'nav-heading' }, group),
    h('ul', null, pages.map((page) => h('li', { key: page.path }, navLink(frame, page)))));
}

function navLink(frame, page) {
  const current = page === frame.current || page.path === frame.current?.nav?.path || page.path === frame.current?.under;
  const waits = page.path === '/attention' && frame.waiting > 0;
  return h('a', { class: 'nav-link', href: to(page.path), 'aria-current': current ? 'page' : null, onclick: () => frame.set({ menu: false }) },
    icon(page.nav.icon), h('span', null, page.nav.label),
    waits && h('span', { class: 'nav-count' }, frame.waiting, h('span', { class: 'unseen' }, ' waiting')));
}

function who({ session }) {
  const { name, role, team } = session.viewer;
  return h('p', { class: 'who' }, h('strong', null, team.name), h('span', null, `${name} · ${role.toLowerCase()}`));
}

function topbar(frame) {
  return h('header', { class: 'topbar' },
    h('a', { class: 'brand brand-small', href: to('/'), 'aria-label': 'Parley, overview' }, mark()),
    h('h1', { class: 'page-title' }, frame.title),
    connection(frame.session.socket.state),
    iconButton(theme() === 'dark' ? 'Light colours' : 'Dark colours', theme() === 'dark' ? 'sun' : 'moon', () => {
      turnTheme();
      frame.set({});
    }),
    iconButton('Sign out', 'leave', frame.leave));
}

function connection(state) {
  const [tone, text] = STATES[state] ?? STATES.idle;
  return h('span', { class: `connection tone-${tone}`, role: 'status', 'data-state': state }, h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', null, text));
}

function bottombar(frame) {
  const first = entries(frame).filter((page) => page.nav.phone).slice(0, ON_PHONES);
  return h('nav', { class: 'bottombar', 'aria-label': 'Main pages' },
    first.map((page) => navLink(frame, page)),
    h('button', { type: 'button', class: 'nav-link', 'aria-haspopup': 'dialog', onclick: () => frame.set({ menu: true }) }, icon('more'), h('span', null, 'More')));
}

function menu(frame) {
  return dialog({ title: 'All pages', class: 'menu', key: 'menu', onclose: () => frame.set({ menu: false }) },
    h('nav', { 'aria-label': 'All pages' }, GROUPS.map((group) => navGroup(frame, group))),
    who(frame));
}

export function mark() {
  return h('svg', { class: 'mark', viewBox: '0 0 32 32', width: 28, height: 28, 'aria-hidden': 'true' },
    h('rect', { width: 32, height: 32, rx: 8, class: 'mark-ground' }),
    h('path', { class: 'mark-speech', d: 'M8 9.500h10.500a4.500 4.500 0 0 1 0 9H13l-3.600 3.200V18.500H8z' }),
    h('circle', { class: 'mark-dot', cx: 22.5, cy: 21.5, r: 2.5 }));
}

