// How a conversation grows on the screen: events have it read anew, what an agent is saying is shown at once and not kept.

import { Trouble } from '../../trouble.js';
import { toast } from '../../parts.js';
import { EARLIER } from './query.js';

const MOST = 600;  // messages held at a time; earlier ones can be loaded again
const ENDS = new Set(['REPLY_COMPLETED', 'REPLY_FAILED', 'REPLY_CANCELLED']);
const QUIET = new Set(['TASK_PROGRESSED', 'TASK_TOOL_CALLED']);

/** The newest text of each speaker; a piece that comes late, behind its reply's end, is not shown: see speaking(). */
export function fold(data, item) {
  if (item.__typename === 'PartialText') return { ...data, partial: { ...data.partial, [item.taskId]: item } };
  if (ENDS.has(item.kind)) return { ...data, partial: without(data.partial, item.changes.replyId) };
  return data;
}

const without = (partial = {}, replyId) => Object.fromEntries(Object.entries(partial).filter(([, one]) => one.replyId !== replyId));

export const reloads = (item) => item.__typename !== 'PartialText' && !QUIET.has(item.kind);

/** What was read anew, with the earlier messages before it and what is being said behind it. */
export function merge(old, fresh) {
  if (!old.conversation || !fresh.conversation) return fresh;
  const messages = join(old.conversation.messages, fresh.conversation.messages);
  const open = new Set(fresh.conversation.open.nodes.map(({ id }) => id));
  const partial = Object.fromEntries(Object.entries(old.partial ?? {}).filter(([, one]) => open.has(one.replyId)));
  return { ...fresh, partial, conversation: { ...fresh.conversation, messages } };
}

/** By number: a page that does not reach back to what was there leaves no hole, it starts anew. */
function join(old, fresh) {
  const [first] = fresh.nodes;
  if (!first) return fresh;
  const before = old.nodes.filter(({ number }) => number < first.number);
  if (!before.length || before.at(-1).number !== first.number - 1) return fresh;
  const nodes = [...before, ...fresh.nodes];
  return nodes.length > MOST ? fresh : { ...fresh, nodes, pageInfo: old.pageInfo };
}

/** Earlier messages go before; the reader stays at the one they were reading. */
export async function loadEarlier(page) {
  const { conversation } = page.data;
  page.busy.add('earlier');
  page.redraw();
  try {
    const next = await page.api.ask(EARLIER, { id: conversation.id, before: conversation.messages.pageInfo.startCursor });
    const pane = document.querySelector('.chat-pane');
    const below = pane.scrollHeight - pane.scrollTop;
    const now = page.live.data;
    const { nodes, pageInfo } = next.conversation.messages;
    const known = new Set(now.conversation.messages.nodes.map(({ id }) => id));
    const messages = { ...now.conversation.messages, pageInfo, nodes: [...nodes.filter(({ id }) => !known.has(id)), ...now.conversation.messages.nodes] };
    page.live.data = { ...now, conversation: { ...now.conversation, messages } };
    page.redraw();
    requestAnimationFrame(() => requestAnimationFrame(() => pane.scrollTo({ top: pane.scrollHeight - below, behavior: 'instant' })));
  } catch (error) {
    toast({ text: Trouble.of(error).message, detail: Trouble.of(error).next, tone: 'bad' });
  } finally {
    page.busy.delete('earlier');
    page.redraw();
  }
}

/** The replies that are under way, each with what its agents are saying. */
export function speaking(data) {
  const partials = Object.values(data.partial ?? {});
  return data.conversation.open.nodes.map((reply) => ({ ...reply, texts: new Map(partials.filter((one) => one.replyId === reply.id).map((one) => [one.agentId, one.text])) }));
}
