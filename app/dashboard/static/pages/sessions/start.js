// The form of a new session: pattern, goal, who takes part as what, and its caps.

import { h } from '../../dom.js';
import { words } from '../../format.js';
import { button, checkbox, dialog, field, form, iconButton } from '../../parts.js';
import { go, to } from '../../router.js';
import { START } from '../../samples.js';

const MOST = 20;

/** What each pattern is, and the roles that it begins with. */
export const PATTERNS = {
  SUPERVISOR_WORKER: { text: '1 lead, 1 to 19 workers: side by side, then the lead puts their results together.', cast: ['LEAD', 'WORKER', 'WORKER'] },
  PIPELINE: { text: '2 to 20 of any role, one after the other; each is given the outputs of all before it.', cast: ['WORKER', 'WORKER'] },
  PEER_REVIEW: { text: '1 worker, 1 to 5 reviewers: revised until all approve or the rounds run out.', cast: ['WORKER', 'REVIEWER'] },
  BRAINSTORM: { text: '1 lead, 1 to 19 contributors: views unseen by the others, then one summary.', cast: ['LEAD', 'CONTRIBUTOR', 'CONTRIBUTOR'] },
  CONSENSUS: { text: '2 to 20 voters: votes with reasons, in rounds, until enough agree.', cast: ['CONTRIBUTOR', 'CONTRIBUTOR', 'CONTRIBUTOR'] },
  DELEGATION: { text: '1 worker does one piece of work.', cast: ['WORKER'] },
};
const ROLES = ['LEAD', 'WORKER', 'REVIEWER', 'CONTRIBUTOR'];
const TEMPLATE = 'ARCHITECT_DEVELOPER_REVIEWER';
let number = 0;

const cast = (pattern, agents) => PATTERNS[pattern].cast.map((role, index) => seat(role, agents[index % agents.length]?.id));
const seat = (role, agentId) => ({ key: (number += 1), role, agentId });

/** Drawn while page.state.start is set: { pattern, seats, trouble }. */
export function startDialog(agents, page) {
  const { pattern = 'SUPERVISOR_WORKER', seats = cast('SUPERVISOR_WORKER', agents), trouble } = page.state.start;
  if (!page.state.start.seats) page.state.start = { pattern, seats };
  // What was chosen last, not what was drawn last: two fields may change before the next frame.
  const set = (changes) => page.set({ start: { ...page.state.start, ...changes } });
  const reseat = (change) => set({ seats: change(page.state.start.seats) });
  const consensus = pattern === 'CONSENSUS';
  return dialog({ title: 'Start a session', class: 'wide', key: 'start', onclose: () => page.set({ start: null }) },
    form({ submit: 'Start', busy: page.isBusy(START.field), trouble, onsubmit: (values) => start(page, values) },
      field({ label: 'Pattern', name: 'pattern', value: pattern, options: Object.keys(PATTERNS).map((one) => [one, words(one)]), hint: PATTERNS[pattern].text, onchange: ({ target }) => set({ pattern: target.value, seats: cast(target.value, agents), trouble: null }) }),
      field({ label: 'Goal', name: 'goal', rows: 2, required: true, maxlength: 20_000, error: trouble?.problem('goal') }),
      field({ label: 'Context', name: 'context', rows: 2, maxlength: 50_000, hint: 'Background that all of them are told.', error: trouble?.problem('context') }),
      participants(agents, seats, reseat, trouble),
      consensus && field({ label: 'Options, one in each line', name: 'options', rows: 2, placeholder: 'yes\nno', error: trouble?.problem('options') }),
      h('div', { class: 'field-row' },
        field({ label: 'At most, US dollars', name: 'maxCostUsd', type: 'number', min: 0.01, max: 10_000, step: 0.01, value: '0.50', error: trouble?.problem('maxCostUsd') }),
        field({ label: 'At most, minutes', name: 'minutes', type: 'number', min: 1, max: 1440, step: 1, value: '10', error: trouble?.problem('maxDurationSeconds') }),
        (consensus || pattern === 'PEER_REVIEW' || pattern === 'SUPERVISOR_WORKER') && field({ label: 'At most, rounds', name: 'maxRounds', type: 'number', min: 1, max: 20, step: 1, placeholder: '5', error: trouble?.problem('maxRounds') }),
        consensus && field({ label: 'Share that agrees, percent', name: 'threshold', type: 'number', min: 51, max: 100, step: 1, placeholder: '67', error: trouble?.problem('threshold') }),
        field({ label: 'When a stage fails', name: 'onFailure', options: [['ASK', 'Somebody decides'], ['ABORT', 'The session ends']] })),
      pattern === 'SUPERVISOR_WORKER' && checkbox({ label: 'Plan, build, review, report', name: 'template', hint: 'An architect plans, developers build, reviewers judge: it needs a lead, workers and reviewers.' })));
}

function participants(agents, seats, reseat, trouble) {
  const change = (key, changes) => reseat((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)));
  const another = (all) => seat(all.at(-1)?.role ?? 'WORKER', agents.find((agent) => !all.some((one) => one.agentId === agent.id))?.id);
  return h('fieldset', { class: 'cast', key: 'cast' },
    h('legend', null, 'Participants, in their order'),
    seats.map((one, index) => h('div', { class: 'cast-row', key: one.key },
      field({ label: 'Agent', name: `agent-${one.key}`, options: agents.map((agent) => [agent.id, agent.name]), value: one.agentId, onchange: ({ target }) => change(one.key, { agentId: target.value }), error: trouble?.problem(`participants.${index}`) }),
      field({ label: 'Role', name: `role-${one.key}`, options: ROLES.map((role) => [role, words(role)]), value: one.role, onchange: ({ target }) => change(one.key, { role: target.value }) }),
      field({ label: 'Its own instructions', name: `own-${one.key}`, maxlength: 20_000 }),
      iconButton(`Remove participant ${index + 1}`, 'close', () => reseat((all) => all.filter((other) => other.key !== one.key)), { disabled: seats.length === 1 }))),
    button('Add a participant', () => reseat((all) => [...all, another(all)]), { kind: 'quiet', icon: 'plus', disabled: seats.length >= MOST }));
}

async function start(page, values) {
  const { pattern, seats } = page.state.start;
  const options = (values.options ?? '').split('\n').map((one) => one.trim()).filter(Boolean);
  const input = {
    pattern, goal: values.goal, context: values.context,
    participants: seats.map(({ key }) => ({ agentId: values[`agent-${key}`], role: values[`role-${key}`], instructions: values[`own-${key}`] })),
    maxCostUsd: Number(values.maxCostUsd), maxDurationSeconds: Math.round(Number(values.minutes) * 60),
    maxRounds: Number(values.maxRounds) || null, onFailure: values.onFailure,
    options: options.length ? options : null, threshold: values.threshold ? Number(values.threshold) / 100 : null,
    template: values.template ? TEMPLATE : null,
  };
  try {
    const payload = await page.act(START, input, { done: 'The session runs', quiet: true });
    if (payload) go(to('/sessions/:id', { id: payload.collaboration.id }));
  } catch (trouble) {
    page.set({ start: { ...page.state.start, trouble } });
  }
}
