// What each chosen agent made of a message: folded, and its texts are read when it is opened.

import { h } from '../../dom.js';
import { percent, words } from '../../format.js';
import { agentLink, foldedRich, status, toast } from '../../parts.js';
import { to } from '../../router.js';
import { Trouble } from '../../trouble.js';
import { CONTRIBUTIONS } from './query.js';

const USES = { ANSWER: 'good', MERGED: 'good', DUPLICATE: 'calm', UNUSED: 'calm' };

export function contributions(reply, page) {
  const { nodes, totalCount } = reply.contributions;
  if (totalCount < 2) return null;
  const read = page.state.contributions[reply.id];
  const open = async (event) => {
    if (!event.currentTarget.open || read) return;
    try {
      const { node } = await page.api.ask(CONTRIBUTIONS, { reply: reply.id });
      page.set({ contributions: { ...page.state.contributions, [reply.id]: node.contributions.nodes } });
    } catch (error) {
      toast({ text: Trouble.of(error).message, tone: 'bad' });
    }
  };
  return h('details', { class: 'step', ontoggle: open },
    h('summary', null, `${totalCount} agents stand behind this`, h('span', { class: 'quiet' }, ` · ${words(reply.strategy).toLowerCase()}`)),
    h('ol', { class: 'contributions' }, (read ?? nodes).map(contribution)));
}

function contribution(one) {
  return h('li', { key: one.id },
    h('p', { class: 'row-meta' }, agentLink(one.agent), one.use ? status(one.use, { tone: USES[one.use] }) : status(one.status),
      one.relevance !== null && h('span', null, `relevance ${percent(one.relevance)}`),
      one.task && h('a', { href: to('/tasks/:id', one.task) }, 'its work')),
    one.text && foldedRich(one.text), one.error && h('p', { class: 'error-text' }, one.error));
}
