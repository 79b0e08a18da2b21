// Ids and other texts that copy: ids are shown short, copied whole.

import { h } from '../dom.js';
import { icon } from '../icons.js';
import { button } from './button.js';
import { toast } from './toast.js';

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast({ text: 'Copied', tone: 'good' });
  } catch {
    toast({ text: text, detail: 'The browser allows no copying here: select it above.', tone: 'wait' });
  }
}

/** 'task_0190…4f2a', with the kind and the last characters, which tell ids apart. */
export function copyId(id) {
  const [kind, rest = ''] = id.split('_');
  const shown = rest.length > 10 ? `${kind}_…${rest.slice(-6)}` : id;
  return h('button', { type: 'button', class: 'copy-id', title: id, 'aria-label': `Copy the id ${id}`, onclick: () => copy(id) }, shown, icon('copy', { size: 13 }));
}

export const copyButton = (text, { label = 'Copy', kind = 'plain' } = {}) => button(label, () => copy(text), { kind, icon: 'copy' });
