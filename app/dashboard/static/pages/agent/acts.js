// What people do to an agent: change, pause, resume, archive; and have it forget.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { cut } from '../../format.js';
import { button, field, formDialog } from '../../parts.js';
import { agentFields, agentInput, draftOf } from './form.js';

const AGENT = 'AgentPayload { agent { id status version } }';
const UPDATE = mutation('updateAgent', 'UpdateAgentInput', AGENT);
const FORGET = mutation('forget', 'ForgetInput', 'ForgetPayload { memoryId }');
const TURNS = {
  pause: { change: mutation('pauseAgent', 'PauseAgentInput', AGENT), title: 'Pause', text: 'It takes no new work until it is resumed. What it has begun goes on.', done: 'is paused' },
  resume: { change: mutation('resumeAgent', 'ResumeAgentInput', AGENT), title: 'Resume', text: 'It takes work again.', done: 'is back' },
  archive: { change: mutation('archiveAgent', 'ArchiveAgentInput', AGENT), title: 'Archive', text: 'It leaves the team for good and is kept for history only. This cannot be undone.', done: 'left the team', kind: 'danger' },
};

export function acts(agent, page) {
  const open = (dialog, rest = {}) => () => page.set({ dialog, trouble: null, ...rest });
  if (agent.status === 'ARCHIVED') return [];
  const turn = agent.status === 'PAUSED' ? 'resume' : 'pause';
  return [
    page.can('WRITE_AGENTS') && button('Edit', open('edit', { draft: draftOf(agent) })),
    page.can('CONTROL_AGENTS') && button(TURNS[turn].title, open(turn), { icon: turn === 'pause' ? 'pause' : 'play' }),
    page.can('WRITE_AGENTS') && button('Archive', open('archive'), { kind: 'danger' }),
  ];
}

export function dialogs(agent, page) {
  const { dialog } = page.state;
  if (dialog === 'edit') return editDialog(agent, page);
  if (dialog?.forget) return forgetDialog(dialog.forget, page);
  return TURNS[dialog] ? turnDialog(agent, TURNS[dialog], page) : null;
}

function editDialog(agent, page) {
  const { draft } = page.state;
  // The version that the form was filled from: a change that somebody made meanwhile is not overwritten.
  const input = (values) => ({ ...agentInput(values, draft), agentId: agent.id, expectedVersion: draft.version });
  return formDialog(page, { title: `Change ${agent.name}`, change: UPDATE, input, submit: 'Save', done: `${agent.name} was changed`, wide: true }, (trouble) => agentFields(page, draft, trouble));
}

function turnDialog(agent, { change, title, text, done, kind }, page) {
  const input = ({ reason }) => ({ agentId: agent.id, reason });
  return formDialog(page, { title: `${title} ${agent.name}?`, change, input, submit: title, kind, done: `${agent.name} ${done}` }, (trouble) => [
    h('p', null, text),
    field({ label: 'Why', name: 'reason', rows: 2, maxlength: 500, error: trouble?.problem('reason'), hint: 'For the event log; may be left empty.' }),
  ]);
}

function forgetDialog(memory, page) {
  return formDialog(page, { title: 'Forget this?', change: FORGET, input: () => ({ memoryId: memory.id }), submit: 'Forget', kind: 'danger', done: 'Forgotten' }, () => [
    h('p', null, cut(memory.text, 300)), h('p', { class: 'quiet' }, 'This cannot be undone.'),
  ]);
}
