// Things to press. A button that waits for the server says so and cannot be pressed twice.

import { h } from '../dom.js';
import { icon } from '../icons.js';

/** button('Cancel', act, { kind: 'danger', busy, icon: 'pause' }); kinds: primary, plain, quiet, danger. */
export function button(text, onclick, { kind = 'plain', busy = false, icon: name, disabled = false, type = 'button', ...rest } = {}) {
  return h('button', { ...rest, type, class: `button button-${kind}`, disabled: disabled || busy, 'aria-busy': busy ? 'true' : null, onclick },
    busy ? h('span', { class: 'spinner', 'aria-hidden': 'true' }) : name && icon(name), h('span', null, text));
}

export function iconButton(label, name, onclick, rest = {}) {
  return h('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick, ...rest }, icon(name));
}

export function linkButton(text, href, { kind = 'plain', icon: name } = {}) {
  return h('a', { class: `button button-${kind}`, href }, name && icon(name), h('span', null, text));
}
