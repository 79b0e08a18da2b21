// Sign in with an API key. It stays in this tab's session and is sent to this server only.

import { h } from '../dom.js';
import { field, form, skeleton } from '../parts.js';
import { mark } from '../shell.js';

export default {
  view({ busy, trouble, restoring, enter }) {
    if (restoring) return h('main', { class: 'sign-in' }, skeleton(3));
    return h('main', { class: 'sign-in' },
      h('div', { class: 'sign-in-card' },
        h('div', { class: 'brand' }, mark(), h('span', null, 'Parley')),
        h('h1', null, 'See what your agents do, and step in.'),
        form({ submit: 'Sign in', busy, trouble, onsubmit: ({ key }) => enter(key.trim()) },
          field({
            label: 'API key', name: 'key', type: 'password', required: true, autocomplete: 'off', autofocus: true, spellcheck: 'false',
            placeholder: 'parley_…', hint: 'Kept in this tab only. “make run” prints a key of the demo team; an admin makes others.',
          }))));
  },
};
