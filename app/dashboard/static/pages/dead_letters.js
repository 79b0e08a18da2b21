// Tasks that failed for good: look why, mend them and run them again, or give them up.

import { h } from '../dom.js';
import { cut, words } from '../format.js';
import { mergeConnection } from '../live.js';
import { agentLink, card, chosenTab, CHOICES, empty, more, status, tabs, time } from '../parts.js';
import { to } from '../router.js';
import { detail, dialogs, LETTER } from './dead_letters/detail.js';

const TABS = [['open', 'Open'], ['resolved', 'Resolved'], ['all', 'All']];
const WHERE = { open: { status: { eq: 'OPEN' } }, resolved: { status: { ne: 'OPEN' } }, all: null };

const QUERY = `query DeadLetters($where: DeadLetterFilter, $letter: ID!, $open: Boolean!, $after: Cursor) {
  waiting: deadLetters(first: 1, where: { status: { eq: OPEN } }) { totalCount }
  deadLetters(first: 30, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id status reason createdAt resolvedBy task { id title assignee { id name } } }
  }
  letter: node(id: $letter) @include(if: $open) { ... on DeadLetter { ${LETTER} } }
  ${CHOICES}
}`;

const STREAM = `subscription DeadLetters($after: Cursor) {
  teamEvents(after: $after, kinds: [TASK_DEAD_LETTERED, DEAD_LETTER_DISCARDED, DEAD_LETTER_REPLAYED, TASK_REQUEUED]) {
    __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

export default {
  name: 'dead_letters',
  path: '/dead-letters',
  title: 'Dead letters',
  nav: { label: 'Dead letters', icon: 'dead', group: 'Needs a person' },
  needs: 'READ_TEAM',
  state: { dialog: null },

  data: (page) => ({
    query: QUERY,
    variables: { where: WHERE[chosenTab(page, TABS)], letter: page.query.letter ?? '', open: Boolean(page.query.letter) },
    stream: page.can('READ_EVENTS') ? STREAM : null,
    merge: (old, fresh) => ({ ...fresh, deadLetters: mergeConnection(old.deadLetters, fresh.deadLetters) }),
  }),

  view: (data, page) => [
    h('div', { class: ['desk', page.query.letter && 'has-open'], key: 'desk' },
      h('div', { class: 'desk-list' },
        tabs(page, TABS.map(([value, text]) => (value === 'open' ? [value, text, data.waiting.totalCount] : [value, text])), { label: 'Which' }),
        list(data, page)),
      h('div', { class: 'desk-open' }, page.query.letter ? detail(data, page) : data.deadLetters.nodes.length > 0 && empty({ icon: 'dead', title: 'Choose one', text: 'It opens here, with why it failed and how to go on.' }))),
    dialogs(data, page),
  ],
};

function list(data, page) {
  const { nodes } = data.deadLetters;
  if (!nodes.length) return card({}, empty(chosenTab(page, TABS) === 'open' ? { icon: 'check', title: 'No dead letters', text: 'Tasks that fail for good, after all their attempts, wait here for a person.' } : { icon: 'dead', title: 'None' }));
  return card({ class: 'desk-card' }, h('ul', { class: 'rows' }, nodes.map((letter) => row(letter, page))), more(page, 'deadLetters'));
}

function row(letter, page) {
  const here = letter.id === page.query.letter;
  return h('li', { key: letter.id, class: ['row', here && 'is-here'] },
    h('a', { class: 'row-link row-text', href: to('/dead-letters', {}, { ...page.query, letter: letter.id }), 'aria-current': here ? 'true' : null }, cut(letter.task.title, 120)),
    h('p', { class: 'small quiet' }, cut(letter.reason, 140)),
    h('span', { class: 'row-meta' }, status(letter.status, { tone: letter.status === 'OPEN' ? 'bad' : letter.status === 'REPLAYED' ? 'good' : 'calm', text: words(letter.status) }), agentLink(letter.task.assignee), letter.resolvedBy && `by ${letter.resolvedBy}`, time(letter.createdAt)));
}
