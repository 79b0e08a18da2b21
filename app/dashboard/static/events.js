// What happened, as a sentence with links: one line for each kind of event. Unknown kinds are named as they are.

import { h } from './dom.js';
import { bare, cut, money, plural, words } from './format.js';
import { agentLink, time } from './parts.js';
import { to } from './router.js';

const MOST = 64;

/** What a feed needs of an event; spread into queries and subscriptions. */
export const EVENT_FIELDS = `id kind at actor cursor changes
  agent { id name } task { id title } collaboration { id goal } conversation { id title } attentionItem { id title }`;

const link = (path, id, text) => (id ? h('a', { href: to(path, { id }) }, cut(text || 'untitled', MOST)) : h('span', null, cut(text || '', MOST)));
const task = (event) => link('/tasks/:id', event.task?.id, event.task?.title ?? event.changes.title ?? 'a task');
const session = (event) => link('/sessions/:id', event.collaboration?.id, event.collaboration?.goal ?? event.changes.goal ?? 'a session');
const conversation = (event) => link('/conversations/:id', event.conversation?.id ?? event.changes.conversationId, event.conversation?.title || 'a conversation');
// Events that are older than the name have `decisionId`.
const decision = (event) => link('/routing/:id', event.changes.routingDecisionId ?? event.changes.decisionId, 'a message');
const report = (event) => link('/reports/:id', event.changes.reportId, 'a report');
const attention = (event) => link('/attention', event.attentionItem?.id, event.attentionItem?.title ?? event.changes.title ?? 'a request');
const consultation = (event) => link('/consultations/:id', event.changes.consultationId, 'a consultation');
const stage = ({ changes }) => h('em', null, changes.stage ?? changes.name ?? 'a stage');
const cost = ({ changes }) => (changes.cost ? ` for ${money(changes.cost)}` : '');
const named = ({ changes }) => h('em', null, changes.name ?? changes.slug ?? '');
const because = (text) => (text ? `: ${cut(bare(String(text)), MOST)}` : '');

const OUTCOMES = { answered: ['answered '], failed: ['could not answer '], redirected: ['passed on '] };

// Each answers what follows the subject; the subject is the agent where there is one, else who acted.
const SAID = {
  TASK_CREATED: (e) => ['was given ', task(e)],
  TASK_CLAIMED: (e) => ['began ', task(e), e.changes.attempt > 1 && ` (attempt ${e.changes.attempt})`],
  TASK_PROGRESSED: (e) => ['goes on with ', task(e), because(e.changes.progress !== e.task?.title && e.changes.progress)],
  TASK_TOOL_CALLED: (e) => [e.changes.failed ? 'failed to use ' : 'used ', h('code', null, e.changes.tool), ' for ', task(e)],
  TASK_COMPLETED: (e) => ['completed ', task(e), cost(e)],
  TASK_FAILED: (e) => ['failed at ', task(e), because(e.changes.error)],
  TASK_TIMED_OUT: (e) => ['ran out of time with ', task(e)],
  TASK_CANCELLED: (e) => ['had ', task(e), ' cancelled'],
  TASK_REQUEUED: (e) => ['will try ', task(e), ' again'],
  TASK_PUT_ASIDE: (e) => ['put ', task(e), ' aside'],
  TASK_REASSIGNED: (e) => ['took over ', task(e)],
  TASK_DEAD_LETTERED: (e) => ['gave up on ', task(e), '; it waits for a person'],
  TASK_COST_CORRECTED: (e) => ['had the cost of ', task(e), ' corrected'],
  DEAD_LETTER_REPLAYED: (e) => ['gets another try at ', task(e)],
  DEAD_LETTER_DISCARDED: (e) => ['need not do ', task(e), ' any more', because(e.changes.note)],
  COLLABORATION_STARTED: (e) => [`started a session, ${words(e.changes.pattern).toLowerCase()}: `, session(e)],
  COLLABORATION_STAGE_STARTED: (e) => ['begins ', stage(e), ' of ', session(e)],
  COLLABORATION_STAGE_COMPLETED: (e) => ['finished ', stage(e), ' of ', session(e)],
  COLLABORATION_STAGE_FAILED: (e) => ['failed at ', stage(e), ' of ', session(e)],
  COLLABORATION_DECIDED: (e) => ['decided on ', stage(e), ' of ', session(e)],
  COLLABORATION_EXTENDED: (e) => ['extended ', session(e)],
  COLLABORATION_COMPLETED: (e) => ['completed the session ', session(e)],
  COLLABORATION_FAILED: (e) => ['saw the session fail: ', session(e)],
  COLLABORATION_TIMED_OUT: (e) => ['saw time run out for ', session(e)],
  COLLABORATION_CANCELLED: (e) => ['cancelled ', session(e)],
  ROUTING_DECIDED: (e) => ['was chosen for ', decision(e)],
  ROUTING_FELL_BACK: (e) => ['stepped in for ', decision(e), ', as nobody fitted'],
  ROUTING_OVERRIDDEN: (e) => ['was chosen by a person for ', decision(e)],
  ROUTING_RATED: (e) => [`got ${e.changes.stars ?? '?'} of 5 stars for the answer to `, decision(e)],
  ROUTING_OUTCOME_RECORDED: (e) => [...(OUTCOMES[String(e.changes.outcome).toLowerCase()] ?? ['is done with ']), decision(e)],
  ROUTING_POLICY_CHANGED: (e) => [`made version ${e.changes.version} of how messages are routed`, because(e.changes.note)],
  CONVERSATION_STARTED: (e) => ['opened ', conversation(e)],
  CONVERSATION_CLOSED: (e) => ['closed ', conversation(e)],
  CONVERSATION_HANDED_OFF: (e) => ['was handed ', conversation(e), because(e.changes.reason)],
  HANDOFF_REDIRECTED: (e) => ['was handed ', conversation(e), ' instead', because(e.changes.reason)],
  CONVERSATION_AGENT_JOINED: (e) => ['joined ', conversation(e)],
  CONVERSATION_AGENT_LEFT: (e) => ['left ', conversation(e)],
  CONVERSATION_VARIABLES_SET: (e) => [`set ${plural(Object.keys(e.changes.variables ?? {}).length, 'variable')} of `, conversation(e)],
  STEP_DECIDED: (e) => ['said its part in ', conversation(e), because(e.changes.reason)],
  CONVERSATION_RETURNED: (e) => ['got ', conversation(e), ' back'],
  MESSAGE_ADDED: (e) => ['wrote in ', conversation(e)],
  REPLY_STARTED: (e) => [e.agent ? 'is writing in ' : 'has somebody answer in ', conversation(e)],
  REPLY_COMPLETED: (e) => [e.agent ? 'answered in ' : 'delivered the answer in ', conversation(e), cost(e)],
  REPLY_FAILED: (e) => ['could not answer in ', conversation(e), because(e.changes.error)],
  REPLY_CANCELLED: (e) => ['was stopped in ', conversation(e), because(e.changes.error)],
  AGENT_MESSAGE_RECEIVED: (e) => ['got a message', because(e.changes.subject)],
  INBOX_ACKNOWLEDGED: () => ['read messages'],
  ATTENTION_OPENED: (e) => ['needs a person: ', attention(e)],
  ATTENTION_ASSIGNED: (e) => [`waits for ${e.changes.assignee ?? 'anybody'} to answer `, attention(e)],
  ATTENTION_ANSWERED: (e) => ['got an answer to ', attention(e)],
  ATTENTION_EXPIRED: (e) => ['got no answer in time to ', attention(e)],
  ATTENTION_WITHDRAWN: (e) => ['no longer needs an answer to ', attention(e)],
  MEMORY_REMEMBERED: (e) => [e.agent ? (e.changes.merged ? 'heard again what it remembers' : 'remembers something new') : 'noted something for the team to remember'],
  MEMORY_FORGOTTEN: (e) => [e.agent ? 'forgot something' : 'made the team forget something'],
  AGENT_CREATED: () => ['joined the team'],
  AGENT_UPDATED: () => ['was changed'],
  AGENT_PAUSED: (e) => ['was paused', because(e.changes.reason)],
  AGENT_RESUMED: () => ['is back'],
  AGENT_ARCHIVED: () => ['left the team'],
  AGENT_ALLOWANCE_CHANGED: () => ['got a new daily allowance'],
  REPORT_REQUESTED: (e) => ['was asked for ', report(e)],
  REPORT_REPAIR_REQUESTED: (e) => ['was asked to mend ', report(e), because(e.changes.problems?.[0])],
  REPORT_INVALID: (e) => ['delivered ', report(e), ', which is not as it should be'],
  REPORT_COMPLETED: (e) => ['delivered ', report(e)],
  REPORT_FAILED: (e) => ['could not deliver ', report(e)],
  CONSULTATION_REQUESTED: (e) => ['was asked for advice in ', consultation(e)],
  CONSULTATION_BEGUN: (e) => ['thinks about ', consultation(e)],
  CONSULTATION_ANSWERED: (e) => ['answered ', consultation(e)],
  CONSULTATION_CLARIFIED: (e) => ['was asked further in ', consultation(e)],
  CONSULTATION_LOOP_DETECTED: (e) => ['goes in circles in ', consultation(e), because(e.changes.description)],
  CONSULTATION_ESCALATED: (e) => ['needs a person for ', consultation(e), because(e.changes.reason)],
  CONSULTATION_REDIRECTED: (e) => ['is asked instead in ', consultation(e)],
  CONSULTATION_CLOSED: (e) => ['saw ', consultation(e), ' closed'],
  CONSULTATION_RATED: (e) => ['was rated for ', consultation(e)],
  BUDGET_NEAR_CAP: (e) => [`says: the ${words(e.changes.scope).toLowerCase()} budget is nearly spent`],
  TEAM_CREATED: () => ['made the team'],
  TEAM_UPDATED: () => ['changed the team’s settings'],
  TEAM_FLAGS_CHANGED: () => ['changed what the team may use'],
  TEAM_BUDGETS_CHANGED: () => ['changed the team’s budgets'],
  TEAM_HANDOFF_RULES_CHANGED: () => ['changed the rules of handoffs'],
  TEAM_DOCUMENTS_REGISTERED: (e) => [`registered ${plural(e.changes.ids?.length ?? 0, 'document')}`],
  API_KEY_CREATED: (e) => [e.agent ? 'got the API key ' : 'made the API key ', named(e)],
  API_KEY_REVOKED: (e) => ['revoked the API key ', named(e)],
  CONTRACT_SAVED: (e) => ['saved the contract ', named(e)],
  CONTRACT_DELETED: (e) => ['deleted the contract ', named(e)],
  GROUP_SAVED: (e) => ['saved the group ', named(e)],
  GROUP_DISSOLVED: (e) => ['dissolved the group ', named(e)],
};

const TONES = [[/FAILED|TIMED_OUT|DEAD_LETTERED|EXPIRED|NEAR_CAP|LOOP_DETECTED/, 'bad'], [/COMPLETED|ANSWERED|RESUMED/, 'good'], [/ATTENTION|PAUSED|FELL_BACK|ESCALATED/, 'wait'], [/STARTED|CLAIMED|PROGRESSED|TOOL_CALLED/, 'busy']];

export const eventTone = (kind) => TONES.find(([pattern]) => pattern.test(kind))?.[1] ?? 'calm';

/** Subject and sentence. */
export function sentence(event) {
  const said = SAID[event.kind]?.(event) ?? [words(event.kind).toLowerCase()];
  return h('span', null, event.agent ? agentLink(event.agent) : h('strong', null, event.actor === 'parley' ? 'Parley' : event.actor), ' ', said);
}

/** One line of a feed. */
export function eventLine(event) {
  return h('li', { key: event.id, class: `event tone-${eventTone(event.kind)}` }, h('span', { class: 'dot', 'aria-hidden': 'true' }), sentence(event), time(event.at));
}
