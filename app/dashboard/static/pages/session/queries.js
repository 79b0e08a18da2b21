// What the page of a session reads, follows and changes.

import { mutation } from '../../api.js';
import { EVENT_FIELDS } from '../../events.js';

const AGENT = '{ id name }';
const SESSION = `
  id pattern template goal context status round maxRounds threshold options agreement converged result error errorCode
  createdAt deadline endedAt maxDurationSeconds maxCostUsd cost tokensUsed onFailure onBehalfOf currentStage stagesCompleted
  leadId conversation { id title }
  participants { position role stage status instructions agent ${AGENT} }
  stages(last: 100) {
    totalCount
    nodes {
      id position name kind round attempt status superseded output data error cost tokensUsed durationSeconds
      createdAt endedAt agent ${AGENT} task { id }
    }
  }
  votes(last: 100) { totalCount nodes { id round choice reason createdAt agent ${AGENT} } }
  messages(last: 50) { totalCount nodes { id type subject body sentAt sender ${AGENT} recipient ${AGENT} } }`;

const TIMELINE = `timeline {
  lanes { agentId spans { taskId stageId name status createdAt startedAt endedAt cost tokensUsed } }
  arrows { kind fromAgentId taskId }
}`;

const AGENTS = 'agents(first: 100) { nodes { id name status } }';

export const QUERY = `query Session($id: ID!, $mayRead: Boolean!) {
  collaborationSession(id: $id) {
    ${SESSION}
    ${TIMELINE}
    events(last: 60) @include(if: $mayRead) { nodes { ${EVENT_FIELDS} } }
  }
  ${AGENTS}
}`;

export const REFRESH = `query SessionAgain($id: ID!) { collaborationSession(id: $id) { ${SESSION} } ${AGENTS} }`;

export const STREAM = `subscription Session($id: ID!, $after: Cursor) {
  collaborationEvents(collaborationId: $id, after: $after) {
    __typename
    ... on Event {
      ${EVENT_FIELDS}
      task { status assigneeId creatorId createdAt startedAt endedAt cost tokensUsed }
    }
    ... on CaughtUp { cursor }
    ... on Gap { cursor message }
  }
}`;

export const DETAIL = `query Span($id: ID!) {
  task(id: $id) {
    id title instructions context status progress result output error errorCode cost tokensUsed attemptsMade
    createdAt startedAt endedAt
    assignee ${AGENT} creator ${AGENT} budget { cap spent reserved }
    toolCalls(first: 50) {
      totalCount nodes { id name arguments result error startedAt endedAt createdTask { id title } }
    }
    subtasks(first: 50) { totalCount nodes { id title status cost assignee ${AGENT} } }
  }
}`;

export const TRACE = 'query Trace($id: ID!) { collaborationSession(id: $id) { trace } }';

const PAYLOAD = 'CollaborationPayload { collaboration { id status } }';
export const CANCEL = mutation('cancelCollaboration', 'CancelCollaborationInput', PAYLOAD);
export const EXTEND = mutation('extendCollaboration', 'ExtendCollaborationInput', PAYLOAD);
export const DECIDE = mutation('decideSubtaskFailure', 'DecideSubtaskFailureInput', PAYLOAD);
