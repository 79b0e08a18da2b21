// What the queue reads: its items, and all of the one that is open.

import { CHOICES } from '../../parts.js';

const AGENT = '{ id name }';

export const KINDS = ['QUESTION', 'CLARIFICATION', 'APPROVAL', 'ESCALATION', 'DEAD_LETTER', 'FAILED_SUBTASK', 'COST_CLAIM', 'BUDGET_RAISE'];

/** All that is shown of one item. */
export const ITEM = `id kind title detail status options option answer assignee deadline defaultAnswer holdsTask openedBy closedBy closedAt createdAt stageId
  agent ${AGENT}
  task { id title status } collaboration { id goal } conversation { id title } consultation { id question }
  deadLetter { id reason status task { id title } }
  budget { scope cap spent reserved remaining }
  history(last: 50) { nodes { id at action actor note } }`;

export const QUERY = `query Attention($where: AttentionItemFilter, $item: ID!, $open: Boolean!, $after: Cursor) {
  waiting: attention(first: 1, where: { status: { eq: OPEN } }) { totalCount }
  attention(first: 30, after: $after, where: $where, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id kind title status deadline assignee closedBy createdAt agent ${AGENT} }
  }
  item: node(id: $item) @include(if: $open) {
    ... on AttentionItem { ${ITEM} }
  }
  ${CHOICES}
}`;

export const STREAM = `subscription Attention($after: Cursor) {
  attentionEvents(after: $after) {
    __typename
    ... on Event { id kind cursor actor attentionItem { id title status option answer closedBy } }
    ... on CaughtUp { cursor }
    ... on Gap { cursor }
  }
}`;
