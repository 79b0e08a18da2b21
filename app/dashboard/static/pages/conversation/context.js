// What an agent would see if it answered now, word for word as its model is told.

import { h } from '../../dom.js';
import { count } from '../../format.js';
import { closeDialog, code, dialog, figure, skeleton, troubled } from '../../parts.js';
import { Trouble } from '../../trouble.js';
import { CONTEXT } from './query.js';

export async function lookThrough(agent, page) {
  const shown = { name: 'context', about: { agent, context: undefined }, trouble: null };
  page.set({ dialog: shown });
  const settle = (changes) => page.state.dialog === shown && page.set({ dialog: Object.assign(shown, changes) });
  try {
    const { node } = await page.api.ask(CONTEXT, { agent: agent.id, conversation: page.params.id });
    settle({ about: { agent, context: node.contextFor } });
  } catch (error) {
    settle({ trouble: Trouble.of(error) });
  }
}

export function contextDialog(page) {
  const { about: { agent, context }, trouble } = page.state.dialog;
  return dialog({ title: `What ${agent.name} sees`, class: 'wide', onclose: () => closeDialog(page) },
    trouble ? troubled(trouble) : context === undefined ? skeleton(3) : context === null ? h('p', null, 'No user has said anything yet, so there is nothing to answer.') : seen(context));
}

function seen(context) {
  const { tokens } = context;
  return h('div', { class: 'seen' },
    h('div', { class: 'figures' }, figure(count(tokens.total), 'tokens in all'), figure(count(tokens.instructions), 'instructions'), figure(count(tokens.memories), 'of these memories'), figure(count(tokens.history), 'history'), figure(count(tokens.question), 'question')),
    part('Instructions', code(context.instructions)),
    part('Prompt', code(context.prompt)),
    context.memories.length > 0 && part('Memories', h('ul', { class: 'bullets' }, context.memories.map((memory, index) => h('li', { key: index }, memory)))),
    Object.keys(context.variables).length > 0 && part('Variables', code(context.variables)));
}

const part = (name, content) => h('div', { class: 'part', key: name }, h('h3', null, name), content);
