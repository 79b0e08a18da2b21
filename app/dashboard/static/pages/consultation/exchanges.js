// What was said in a consultation, in order, each with the context that the specialist was given.

import { h } from '../../dom.js';
import { count, words } from '../../format.js';
import { avatar, badge, card, code, foldedRich, time } from '../../parts.js';
import { to } from '../../router.js';

const TONES = { QUESTION: 'busy', CLARIFICATION: 'wait', RESPONSE: 'good' };

export function exchanges({ exchanges: { nodes, totalCount } }) {
  return card({ key: 'utterance', title: 'What was said', subtitle: totalCount > nodes.length ? `The last ${nodes.length} of ${count(totalCount)}` : null },
    h('ol', { class: 'exchanges' }, nodes.map(exchange)));
}

function exchange(one) {
  return h('li', { key: one.id, class: 'utterance' },
    avatar(one.fromAgent ?? { id: one.author, name: one.author }),
    h('div', { class: 'said-body' },
      h('header', null, one.fromAgent ? h('a', { class: 'said-name', href: to('/agents/:id', one.fromAgent) }, one.fromAgent.name) : h('strong', null, one.author), badge(words(one.kind), TONES[one.kind]), time(one.createdAt), one.task && h('a', { class: 'quiet', href: to('/tasks/:id', one.task) }, 'its work')),
      foldedRich(one.content),
      one.additionalContext && h('div', { class: 'part' }, h('h3', null, 'Besides'), foldedRich(one.additionalContext)),
      listed('Where to look', one.references, (text) => h('code', null, text)),
      listed('What to do next', one.suggestedNextSteps, (text) => text),
      one.contextPackage && h('details', { class: 'step' }, h('summary', null, 'The context that was given'), code(one.contextPackage))));
}

const listed = (name, texts, show) => texts.length > 0 && h('div', { class: 'part' }, h('h3', null, name), h('ul', { class: 'bullets' }, texts.map((text, index) => h('li', { key: index }, show(text)))));
