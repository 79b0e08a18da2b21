// Say something: routing decides who answers unless one is named; while an answer is under way, wait or interrupt.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { agentChoices, button, valuesOf } from '../../parts.js';

const SEND = mutation('sendMessage', 'SendMessageInput', 'SendMessagePayload { sent { id } }');

export function composer(data, page) {
  const { conversation } = data;
  if (!page.can('SEND_MESSAGES')) return null;
  if (conversation.status === 'CLOSED') return h('p', { class: 'composer-closed' }, 'This conversation is closed; it can only be read.');
  const person = !page.viewer.agent;
  const busy = page.isBusy('send');
  const answering = conversation.open.nodes.length > 0;
  const send = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const { text, agentId = '', whileAnswering = 'QUEUE' } = valuesOf(form);
    if (!text.trim() || busy) return;
    const input = person ? { text, agentId: agentId || null, whileAnswering } : { text };
    if (await page.act(SEND, { conversationId: conversation.id, ...input }, { name: 'send' })) {
      form.reset();
      form.querySelector('textarea').focus();
    }
  };
  const enter = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.currentTarget.form.requestSubmit();
  };
  return h('form', { class: 'composer', key: 'composer', onsubmit: send },
    h('textarea', { name: 'text', rows: 2, maxlength: 50_000, 'aria-label': 'Your message', placeholder: person ? `Message to the agents as ${conversation.userName}` : `Message as ${page.viewer.agent.name}`, onkeydown: enter }),
    h('div', { class: 'composer-row' },
      person && h('select', { name: 'agentId', 'aria-label': 'Who answers' }, h('option', { value: '' }, 'Routing decides'), agentChoices(data).map(([id, name]) => h('option', { key: id, value: id }, name))),
      person && answering && h('select', { name: 'whileAnswering', 'aria-label': 'While an answer is under way' }, h('option', { value: 'QUEUE' }, 'After the present answer'), h('option', { value: 'INTERRUPT' }, 'Interrupt it')),
      h('span', { class: 'composer-hint quiet' }, 'Enter sends, Shift+Enter breaks the line'),
      button('Send', null, { kind: 'primary', type: 'submit', busy })));
}
