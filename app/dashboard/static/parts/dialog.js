// A native dialog: drawn while it is open, and closed by being left out of the next drawing.

import { h } from '../dom.js';
import { iconButton } from './button.js';

const show = (el) => {
  const opener = document.activeElement;
  el.showModal();
  return () => opener?.isConnected && opener.focus();
};

/** dialog({ title, onclose }, children): `onclose` has to make the page draw without it. */
export function dialog({ title, onclose, class: name = '', key = 'dialog' }, ...children) {
  const close = (event) => {
    event?.preventDefault();
    onclose();
  };
  const outside = (event) => event.target === event.currentTarget && close(event);
  return h('dialog', { class: `dialog ${name}`, key, 'aria-label': title, mount: show, oncancel: close, onmousedown: outside },
    h('div', { class: 'dialog-body' },
      h('header', { class: 'dialog-head' }, h('h2', null, title), iconButton('Close', 'close', close)),
      children));
}
