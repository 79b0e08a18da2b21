// A dialog around one mutation: it says what will happen, keeps what was refused beside the fields, and closes when done.

import { h } from '../dom.js';
import { Trouble } from '../trouble.js';
import { button } from './button.js';
import { dialog } from './dialog.js';
import { form } from './field.js';

/** Which dialog a page shows stands in its state: openDialog(page, 'cancel', { task }). */
export const openDialog = (page, name, about = {}) => page.set({ dialog: { name, about, trouble: null } });
export const closeDialog = (page) => page.set({ dialog: null });

/**
 * actionDialog(page, { title, lead, submit, kind, change, input(values), done, then(payload) }, fields(problem)), for
 * what openDialog() opened: `change` is a mutation(), and `problem(path)` says what was wrong with a field of its input.
 */
export function actionDialog(page, spec, fields) {
  const { trouble } = page.state.dialog;
  const refuse = (refused) => page.state.dialog && page.set({ dialog: { ...page.state.dialog, trouble: refused } });
  return sending(page, { ...spec, trouble, refuse, close: () => closeDialog(page) }, fields((path) => trouble?.problem(path)));
}

/**
 * The same with what was refused in page.state.trouble, for pages whose dialogs have drafts: formDialog(page, { … },
 * (trouble) => fields). `covers(trouble)` tells whether the fields say all of a refusal themselves.
 */
export function formDialog(page, { covers = () => false, ...spec }, fields) {
  const { trouble } = page.state;
  const refuse = (refused) => page.set({ trouble: refused });
  return sending(page, { ...spec, trouble: trouble && covers(trouble) ? null : trouble, refuse, close: () => page.set({ dialog: null, trouble: null }) }, fields(trouble));
}

function sending(page, { title, lead, submit, kind, wide = false, trouble, close, ...rest }, fields) {
  return dialog({ title, class: wide ? 'wide' : '', onclose: close },
    lead && h('p', { class: 'dialog-lead' }, lead),
    form({ submit, kind, trouble, busy: page.isBusy('dialog'), onsubmit: (values) => send(page, { close, ...rest }, values), actions: button('Back', close, { kind: 'quiet' }) }, fields));
}

async function send(page, { change, input, done, then, close, refuse }, values) {
  try {
    const payload = await page.act(change, input(values), { done, quiet: true, name: 'dialog' });
    if (!payload) return;
    close();
    then?.(payload);
  } catch (error) {
    refuse(Trouble.of(error));
  }
}
