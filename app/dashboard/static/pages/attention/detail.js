// One thing that needs a person: what it is about, the form to answer it, and who did what about it.

import { h } from '../../dom.js';
import { cut, money, words } from '../../format.js';
import { agentLink, avatar, button, card, copyId, countdown, empty, facts, foldedProse, gauge, linkButton, openDialog, status, time } from '../../parts.js';
import { to } from '../../router.js';
import { answerForm, assignDialog } from './answer.js';

export function detail(data, page) {
  const { item } = data;
  const back = h('p', { class: 'desk-back' }, linkButton('Back to the list', to('/attention', {}, { ...page.query, item: '' }), { kind: 'quiet' }));
  if (item === undefined) return null;
  if (!item?.id) return [back, empty({ icon: 'attention', title: 'There is no such item', text: 'It may belong to another team, or your key may not see it.' })];
  const open = item.status === 'OPEN';
  return [
    back,
    card({ key: item.id, class: 'subject' },
      h('div', { class: 'subject-line' }, status(item.status, { text: open ? words(item.kind) : `${words(item.kind)}, ${words(item.status).toLowerCase()}`, tone: open ? 'wait' : 'good' }), copyId(item.id),
        open && page.can('ANSWER_ATTENTION') && h('div', { class: 'subject-actions' }, button('Assign', () => openDialog(page, 'assign')))),
      h('h2', { class: 'subject-title' }, item.title),
      item.detail && foldedProse(item.detail),
      facts([
        ['Asked by', item.agent ? h('span', null, agentLink(item.agent)) : item.openedBy],
        ['About', subject(item)],
        ['For', item.assignee ?? (open ? h('span', { class: 'quiet' }, 'whoever comes first') : null)],
        ['Due', open && item.deadline && countdown(item.deadline, page.redraw)],
        ['If nobody answers', open && item.deadline && (item.defaultAnswer === null ? 'the agent is told so' : `“${cut(item.defaultAnswer, 120)}”`)],
        ['Opened', time(item.createdAt)],
      ]),
      item.holdsTask && open && h('p', { class: 'notice tone-wait' }, 'Its task waits for the answer.'),
      item.budget && budget(item.budget)),
    open ? page.can('ANSWER_ATTENTION') && answerForm(item, data, page) : closed(item),
    history(item),
    page.state.dialog?.name === 'assign' && assignDialog(item, page),
  ];
}

function subject({ task, collaboration, consultation, conversation, deadLetter, stageId }) {
  if (deadLetter) return h('a', { href: to('/dead-letters', {}, { letter: deadLetter.id }) }, cut(deadLetter.task.title, 70));
  if (consultation) return h('a', { href: to('/consultations/:id', consultation) }, cut(consultation.question, 70));
  if (task) return h('a', { href: to('/tasks/:id', task) }, cut(task.title, 70));
  if (conversation) return h('a', { href: to('/conversations/:id', conversation) }, cut(conversation.title || 'a conversation', 70));
  if (collaboration) return h('a', { href: to('/sessions/:id', collaboration, stageId ? { stage: stageId } : {}) }, cut(collaboration.goal, 70));
  return null;
}

function budget({ scope, cap, spent, reserved }) {
  const [most, used, held] = [cap, spent, reserved].map(Number);
  return h('div', { class: 'budget' }, h('p', null, h('span', null, words(scope)), h('span', null, h('strong', null, money(used)), ` of ${money(most)}`)),
    gauge({ spent: most ? used / most : 0, reserved: most ? held / most : 0, label: `${money(used)} spent and ${money(held)} reserved of ${money(most)}` }));
}

function closed(item) {
  const said = item.status === 'ANSWERED' ? `Answered by ${item.closedBy}` : item.status === 'EXPIRED' ? 'Nobody answered in time' : 'Withdrawn: nobody needs the answer any more';
  return card({ key: 'closed', title: said, subtitle: time(item.closedAt), class: 'tone-good outlined' },
    item.option && h('p', { class: 'answer-option' }, words(item.option)), item.answer ? foldedProse(item.answer) : !item.option && h('p', { class: 'quiet' }, 'Nothing was said.'));
}

function history({ history: { nodes } }) {
  return card({ key: 'history', title: 'Who did what' }, h('ol', { class: 'trail' }, nodes.map((step) => h('li', { key: step.id },
    avatar({ id: step.actor, name: step.actor }, { size: 'small' }),
    h('div', null, h('p', null, h('strong', null, step.actor), ` ${{ OPENED: 'opened it', ASSIGNED: 'assigned it', ANSWERED: 'answered', EXPIRED: 'closed it at the deadline', WITHDRAWN: 'withdrew it' }[step.action]}`), step.note && h('p', { class: 'small quiet prose' }, cut(step.note, 400))),
    time(step.at)))));
}
