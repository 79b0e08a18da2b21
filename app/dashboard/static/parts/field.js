// Forms: labelled fields with hints and errors, and their values as one object.

import { h } from '../dom.js';
import { button } from './button.js';

let next = 0;
const ids = new Map();
export const idOf = (name) => {
  if (!ids.has(name)) ids.set(name, `field-${(next += 1)}`);
  return ids.get(name);
};

/** field({ label, name, hint, error, required, value }): an input; `type`, `options` or `rows` make another control. */
export function field({ label, name, hint, error, type = 'text', options, rows, ...rest }) {
  const id = idOf(name);
  const told = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || null;
  const props = { id, name, 'aria-describedby': told, 'aria-invalid': error ? 'true' : null, ...rest };
  return h('div', { class: ['field', error && 'field-wrong'], key: name },
    h('label', { for: id }, label),
    control(props, { type, options, rows }),
    hint && h('p', { class: 'field-hint', id: `${id}-hint` }, hint),
    error && h('p', { class: 'field-error', id: `${id}-error` }, error));
}

function control(props, { type, options, rows }) {
  if (options) return h('select', props, options.map((option) => choice(option, props.value)));
  if (rows) return h('textarea', { ...props, rows });
  return h('input', { ...props, type });
}

function choice(option, chosen) {
  const [value, text] = Array.isArray(option) ? option : [option, option];
  return h('option', { key: value, value, selected: value === chosen }, text);
}

export function checkbox({ label, name, hint, ...rest }) {
  return h('label', { class: 'check', key: name }, h('input', { type: 'checkbox', name, ...rest }), h('span', null, label, hint && h('small', null, hint)));
}

/** form({ submit: 'Save', onsubmit(values), busy, trouble, actions }, fields). */
export function form({ submit = 'Save', onsubmit, busy = false, trouble, kind = 'primary', actions }, ...fields) {
  const send = (event) => {
    event.preventDefault();
    if (!busy) onsubmit(valuesOf(event.currentTarget));
  };
  return h('form', { class: 'form', onsubmit: send, novalidate: false },
    fields,
    trouble && h('p', { class: 'form-trouble', role: 'alert' }, /[.!?]$/.test(trouble.message) ? trouble.message : `${trouble.message}.`, trouble.next && ` ${trouble.next}`),
    h('div', { class: 'form-actions' }, actions, button(submit, null, { kind, busy, type: 'submit' })));
}

/** { name: value }; checkboxes as true or false. */
export function valuesOf(element) {
  const values = Object.fromEntries(new FormData(element));
  for (const box of element.querySelectorAll('input[type=checkbox]')) values[box.name] = box.checked;
  return values;
}
