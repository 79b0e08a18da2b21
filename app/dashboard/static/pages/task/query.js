// What the page of a task reads.

import { EVENT_FIELDS } from '../../events.js';
import { CHOICES } from '../../parts.js';

const AGENT = '{ id name }';
const NEIGHBOUR = `{ id title status assignee ${AGENT} }`;

/** The tree comes oldest first, so that a parent stands before what it delegated. */
export const QUERY = `query Task($id: ID!, $mayRead: Boolean!, $after: Cursor) {
  task(id: $id) {
    id title type priority status purpose instructions context expectedOutput progress result error errorCode output contractInput
    createdAt startedAt endedAt readyAt deadline depth cost tokensUsed maxTokens maxToolCalls timeoutSeconds attemptsMade waitingFor
    allowedTools inputArtifacts resultArtifacts onBehalfOf pickedBecause modelTier rootId parentId
    assignee ${AGENT} creator ${AGENT} group { id name } parent ${NEIGHBOUR}
    collaboration { id goal } conversation { id title } contract { name version }
    budget { cap spent reserved remaining closedAt }
    attention(first: 10) { nodes { id kind title status } }
    deadLetters(first: 5) { nodes { id status reason createdAt resolvedBy note replay { id title } } }
    dependencies(first: 50) { totalCount nodes ${NEIGHBOUR} }
    dependants(first: 50) { totalCount nodes ${NEIGHBOUR} }
    tree(first: 100, after: $after, orderBy: [{ field: CREATED_AT, direction: ASC }]) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { id parentId title status progress cost assignee ${AGENT} }
    }
    attempts(last: 20) { totalCount nodes { id number outcome model startedAt endedAt cost tokensUsed error errorCode agent ${AGENT} } }
    toolCalls(last: 60) {
      totalCount
      nodes { id name arguments result error startedAt endedAt attempt { number } createdTask ${NEIGHBOUR} }
    }
    events(last: 60) @include(if: $mayRead) { nodes { ${EVENT_FIELDS} } }
  }
  ${CHOICES}
}`;
