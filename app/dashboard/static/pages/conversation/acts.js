// What a person may do with a conversation: stop an answer, hand over, bring back, redirect, change who takes part, close.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { actionDialog, agentChoices, button, checkbox, chosen, everybodyChoices, field, openDialog } from '../../parts.js';
import { contextDialog } from './context.js';
import { POLICIES } from './side.js';

const CONVERSATION = 'ConversationPayload { conversation { id status } }';
const HANDOFF = 'HandoffPayload { handoff { id } }';
const STOP = mutation('cancelReply', 'CancelReplyInput', 'ReplyPayload { reply { id status } }');
const CLOSE = mutation('closeConversation', 'CloseConversationInput', CONVERSATION);
const HAND = mutation('handoffConversation', 'HandoffConversationInput', HANDOFF, 'CycleDetected { chain }');
const RETURN = mutation('returnConversation', 'ReturnConversationInput', HANDOFF);
const REDIRECT = mutation('redirectHandoff', 'RedirectHandoffInput', HANDOFF);
const AGENTS = mutation('updateConversationAgents', 'UpdateConversationAgentsInput', CONVERSATION);

export function actions({ conversation }, page) {
  if (conversation.status !== 'OPEN') return [];
  const own = page.viewer.agent && page.viewer.agent.id !== conversation.primaryAgent.id;
  return [
    page.can('SEND_MESSAGES') && !own && conversation.handoffStack.length > 0 && button('Return', () => openDialog(page, 'return')),
    page.can('SEND_MESSAGES') && !own && button('Hand off', () => openDialog(page, 'handoff')),
    page.can('MANAGE_CONVERSATIONS') && button('Close', () => openDialog(page, 'close'), { kind: 'danger' }),
  ].filter(Boolean);
}

const reason = (problem, rest = {}) => field({ label: 'Why', name: 'reason', maxlength: 500, error: problem('reason'), ...rest });

const DIALOGS = { stop, close, handoff, return: giveBack, redirect, add, remove, context: (data, page) => contextDialog(page) };

export const dialogs = (data, page) => DIALOGS[page.state.dialog?.name]?.(data, page);

function stop(data, page) {
  const { reply } = page.state.dialog.about;
  return actionDialog(page, { title: 'Stop this answer?', lead: 'The agents’ work on it ends at once. What was spent stays spent.', submit: 'Stop it', kind: 'danger', change: STOP, done: 'Stopped', input: (values) => ({ replyId: reply.id, reason: values.reason }) }, (problem) => [reason(problem)]);
}

function close({ conversation }, page) {
  return actionDialog(page, { title: 'Close the conversation for good?', lead: 'What is being answered is stopped, and no message is taken any more. It can still be read.', submit: 'Close it', kind: 'danger', change: CLOSE, done: 'Closed', input: () => ({ conversationId: conversation.id }) }, () => []);
}

function handoff(data, page) {
  const { conversation } = data;
  return actionDialog(page, {
    title: 'Hand the conversation off', submit: 'Hand off', change: HAND, done: 'Handed off',
    input: ({ who, timeout, reply, ...values }) => ({ conversationId: conversation.id, ...chosen(who, 'toAgentId', 'toGroupId'), ...values, reply, ...(timeout ? { timeoutSeconds: Number(timeout) } : {}) }),
  }, (problem) => [
    field({ label: 'To', name: 'who', required: true, options: everybodyChoices(data, { without: [conversation.primaryAgent.id] }), error: problem('toAgentId') ?? problem('toGroupId') }),
    reason(problem, { required: true }),
    field({ label: 'What they should know', name: 'summary', rows: 3, maxlength: 4000, hint: 'Beyond the history, which they see.', error: problem('summary') }),
    h('div', { class: 'field-pair', key: 'return' },
      field({ label: 'Afterwards', name: 'returnPolicy', options: Object.entries(POLICIES), value: 'CALLER', error: problem('returnPolicy') }),
      field({ label: 'Comes back after seconds', name: 'timeout', type: 'number', min: 1, max: 86_400, placeholder: 'the usual', error: problem('timeoutSeconds') })),
    checkbox({ label: 'Who takes over says something at once', name: 'reply', checked: true }),
  ]);
}

function giveBack({ conversation }, page) {
  const policy = conversation.handoffStack.at(-1)?.returnPolicy ?? 'CALLER';
  const back = [...new Map(conversation.handoffStack.map(({ fromAgent }) => [fromAgent.id, fromAgent.name]))];
  return actionDialog(page, {
    title: 'Return the conversation', submit: 'Return it', change: RETURN, done: 'Returned',
    input: (values) => ({ conversationId: conversation.id, result: values.result, toAgentId: values.toAgentId || null }),
  }, (problem) => [
    field({ label: 'To', name: 'toAgentId', options: [['', policy === 'NONE' ? 'Who handed it over' : `As agreed: ${POLICIES[policy]}`], ...back], error: problem('toAgentId') }),
    field({ label: 'What came of it', name: 'result', rows: 3, maxlength: 4000, error: problem('result') }),
  ]);
}

function redirect(data, page) {
  const { handoff: which } = page.state.dialog.about;
  return actionDialog(page, {
    title: 'Redirect the handoff', lead: `Instead of ${which.toAgent.name}, under the same policy and for the time that is left. Routing learns from it.`, submit: 'Redirect', change: REDIRECT, done: 'Redirected',
    input: (values) => ({ handoffId: which.id, toAgentId: values.toAgentId, reason: values.reason }),
  }, (problem) => [
    field({ label: 'To', name: 'toAgentId', required: true, options: agentChoices(data, { without: [which.toAgent.id] }), error: problem('toAgentId') }),
    reason(problem, { required: true, maxlength: 400 }),
  ]);
}

function add(data, page) {
  const { conversation } = data;
  const there = conversation.participants.nodes.map(({ agent }) => agent.id);
  return actionDialog(page, { title: 'Add an agent', lead: 'It sees all of the history.', submit: 'Add', change: AGENTS, done: 'Added', input: (values) => ({ conversationId: conversation.id, add: [values.agentId], remove: [] }) }, (problem) => [
    field({ label: 'Agent', name: 'agentId', required: true, options: agentChoices(data, { without: there }), error: problem('add') }),
  ]);
}

function remove({ conversation }, page) {
  const { agent } = page.state.dialog.about;
  return actionDialog(page, { title: `Remove ${agent.name}?`, lead: 'What it is answering stops. It is not chosen again, unless a message names it.', submit: 'Remove', kind: 'danger', change: AGENTS, done: 'Removed', input: () => ({ conversationId: conversation.id, add: [], remove: [agent.id] }) }, () => []);
}
