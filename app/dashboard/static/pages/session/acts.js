// What people do to a session: cancel it, give it more, decide on a stage that failed, take its trace away.

import { h } from '../../dom.js';
import { money } from '../../format.js';
import { button, dialog, download, field, form, toast } from '../../parts.js';
import { Trouble } from '../../trouble.js';
import { CANCEL, DECIDE, EXTEND, TRACE } from './queries.js';

const FAILED = new Set(['FAILED', 'TIMED_OUT', 'CANCELLED']);
const MOST_ATTEMPTS = 3;

/** Stages that failed for good and on which nobody decided yet. */
export const undecided = (session) => (session.endedAt ? [] : session.stages.nodes.filter((stage) => FAILED.has(stage.status) && !stage.superseded && stage.kind !== 'DECISION'));

export function actions(session, page) {
  const may = page.can('CONTROL_COLLABORATIONS') && !session.endedAt;
  return [
    button('Trace', () => trace(session, page), { icon: 'download', busy: page.isBusy('trace'), title: 'Download the whole session as a JSON document' }),
    may && button('Extend', () => page.set({ dialog: { kind: 'extend' } }), { icon: 'clock' }),
    may && button('Cancel session', () => page.set({ dialog: { kind: 'cancel' } }), { kind: 'danger' }),
  ];
}

async function trace(session, page) {
  page.busy.add('trace');
  page.redraw();
  try {
    const found = await page.api.ask(TRACE, { id: session.id });
    download(`${session.id}.json`, new Blob([JSON.stringify(found.collaborationSession.trace, null, 2)], { type: 'application/json' }));
  } catch (error) {
    const trouble = Trouble.of(error);
    toast({ text: trouble.message, detail: trouble.next, tone: 'bad' });
  } finally {
    page.busy.delete('trace');
    page.redraw();
  }
}

export const decide = (stage, page) => page.set({ dialog: { kind: 'decide', stageId: stage.id, choice: stage.attempt < MOST_ATTEMPTS ? 'RETRY' : 'ABORT' } });

/** The dialog that is open; null: none. */
export function dialogs(data, page) {
  const shown = page.state.dialog;
  if (!shown) return null;
  return DIALOGS[shown.kind](data, page, shown);
}

const DIALOGS = {
  cancel: ({ session }, page, shown) => asked('Cancel this session?', page,
    h('p', { class: 'dialog-text' }, 'Work under way is stopped; what was made is kept.'),
    form({ submit: 'Cancel session', kind: 'danger', busy: page.isBusy(CANCEL.field), trouble: shown.trouble, onsubmit: ({ reason }) => send(page, CANCEL, { collaborationId: session.id, reason }, 'The session is cancelled') },
      field({ label: 'Reason', name: 'reason', maxlength: 500, error: shown.trouble?.problem('reason') }))),

  extend: ({ session }, page, shown) => asked('Give it more', page,
    form({ submit: 'Extend', busy: page.isBusy(EXTEND.field), trouble: shown.trouble, onsubmit: (values) => extend(session, page, values) },
      field({ label: 'Minutes more', name: 'minutes', type: 'number', min: 0, max: 1440, step: 'any', value: '5', hint: `It may take ${Math.round(session.maxDurationSeconds / 60)} minutes so far.`, error: shown.trouble?.problem('seconds') }),
      field({ label: 'US dollars more', name: 'costUsd', type: 'number', min: 0, max: 10_000, step: '0.01', placeholder: '0', hint: `It may cost ${money(session.maxCostUsd)} so far; ${money(session.cost)} is spent.`, error: shown.trouble?.problem('costUsd') }))),

  decide: ({ session, agents }, page, shown) => {
    const stage = session.stages.nodes.find((one) => one.id === shown.stageId);
    if (!stage) return null;
    const seated = new Set(session.pattern === 'PIPELINE' ? [] : session.participants.map((seat) => seat.agent.id));
    const free = agents.filter((agent) => agent.status === 'ACTIVE' && !seated.has(agent.id));
    const choices = [stage.attempt < MOST_ATTEMPTS && ['RETRY', 'Try again with the same agent'], free.length && stage.attempt < MOST_ATTEMPTS && ['REASSIGN', 'Give it to another agent'], ['ABORT', 'End the session']].filter(Boolean);
    return asked(`Decide on “${stage.name}”`, page,
      h('p', { class: 'dialog-text' }, `${stage.agent.name}, attempt ${stage.attempt} of ${MOST_ATTEMPTS}: ${stage.error ?? 'failed'}`),
      form({ submit: 'Decide', kind: shown.choice === 'ABORT' ? 'danger' : 'primary', busy: page.isBusy(DECIDE.field), trouble: shown.trouble, onsubmit: (values) => send(page, DECIDE, { stageId: stage.id, decision: values.decision, agentId: values.agentId || null, reason: values.reason }, 'Decided') },
        field({ label: 'What becomes of it', name: 'decision', options: choices, value: shown.choice, onchange: (event) => page.set({ dialog: { ...page.state.dialog, choice: event.target.value } }) }),
        shown.choice === 'REASSIGN' && field({ label: 'Who takes over', name: 'agentId', options: free.map((agent) => [agent.id, agent.name]), error: shown.trouble?.problem('agentId') }),
        field({ label: 'Reason', name: 'reason', maxlength: 500 })));
  },
};

const asked = (title, page, ...children) => dialog({ title, key: title, onclose: () => page.set({ dialog: null }) }, children);

function extend(session, page, { minutes, costUsd }) {
  const seconds = Math.round(Number(minutes || 0) * 60) || null;
  return send(page, EXTEND, { collaborationId: session.id, seconds, costUsd: Number(costUsd) || null }, 'The session has more');
}

async function send(page, change, input, done) {
  try {
    if (await page.act(change, input, { done, quiet: true })) page.set({ dialog: null });
  } catch (trouble) {
    page.set({ dialog: { ...page.state.dialog, trouble } });
  }
}
