// Short notices over the top bar, read out by screen readers. Bad news stays until it is dismissed; of the rest only the
// newest is shown, so that they never cover what lies below the bar.

import { h, patch } from '../dom.js';
import { iconButton } from './button.js';

const SHOWN_MS = 4_000;
const MOST = 4;
let notices = [];
let number = 0;

/** toast({ text: 'Saved', tone: 'good' }); tones: good, wait, bad. `link` is { text, href }. */
export function toast({ text, detail, tone = 'calm', link }) {
  const id = (number += 1);
  notices = [...notices.filter((notice) => notice.tone === 'bad'), { id, text, detail, tone, link }].slice(-MOST);
  draw();
  if (tone !== 'bad') setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id) {
  notices = notices.filter((notice) => notice.id !== id);
  draw();
}

function draw() {
  patch(document.getElementById('toasts'), notices.map((notice) =>
    h('div', { key: notice.id, class: `toast tone-${notice.tone}` },
      h('div', null, h('strong', null, notice.text), notice.detail && h('p', null, notice.detail),
        notice.link && h('a', { href: notice.link.href }, notice.link.text)),
      iconButton('Dismiss', 'close', () => dismiss(notice.id)))));
}
