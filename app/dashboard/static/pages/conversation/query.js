// What the page of a conversation reads: its newest messages, and earlier ones on request.

import { CHOICES } from '../../parts.js';

const AGENT = '{ id name status }';
export const PAGE = 40;

const MESSAGES = `pageInfo { hasPreviousPage startCursor } totalCount
  nodes {
    id number author authorName text artifacts cost createdAt handoffTriggered
    agent ${AGENT} inReplyTo { id number } task { id status }
    routingDecision { id reason confidence explanation warning strategy }
    nextStep { id decidedBy reason afterWork toAgent ${AGENT} rule { id condition } }
    reply {
      id status strategy error cost answer { id }
      contributions(first: 8) { totalCount nodes { id place status use relevance agent ${AGENT} } }
    }
  }`;

export const QUERY = `query Conversation($id: ID!) {
  conversation(id: $id) {
    id title status userName userId createdBy createdAt closedAt messageCount
    primaryAgent ${AGENT}
    participants(first: 50, where: { leftAt: { isNull: true } }) { nodes { id role joinedAt agent ${AGENT} } }
    handoffStack { id reason summary returnPolicy deadline createdAt requestedBy fromAgent ${AGENT} toAgent ${AGENT} }
    handoffs(last: 8) { totalCount nodes { id reason outcome outcomeReason createdAt endedAt fromAgent ${AGENT} toAgent ${AGENT} returnedTo ${AGENT} } }
    variables(last: 20) { nodes { id name value source setBy createdAt } }
    open: replies(first: 20, where: { status: { in: [PENDING, RUNNING] } }) {
      nodes { id number status strategy createdAt routingDecision { id reason } contributions(first: 8) { nodes { id status agent ${AGENT} } } }
    }
    messages(last: ${PAGE}) { ${MESSAGES} }
  }
  ${CHOICES}
}`;

export const EARLIER = `query Earlier($id: ID!, $before: Cursor) {
  conversation(id: $id) { messages(last: ${PAGE}, before: $before) { ${MESSAGES} } }
}`;

export const CONTRIBUTIONS = `query Contributions($reply: ID!) {
  node(id: $reply) { ... on Reply { contributions(first: 20) { nodes { id place status use relevance text error agent ${AGENT} task { id } } } } }
}`;

export const CONTEXT = `query AgentContext($agent: ID!, $conversation: ID!) {
  node(id: $agent) { ... on Agent { name contextFor(conversationId: $conversation) {
    instructions prompt memories condensed variables
    tokens { total instructions prompt history memories question }
  } } }
}`;

export const STREAM = `subscription Conversation($id: ID!, $after: Cursor) {
  conversationEvents(conversationId: $id, after: $after) {
    __typename
    ... on Event { id kind cursor changes agent { id } }
    ... on PartialText { replyId agentId taskId text }
    ... on CaughtUp { cursor }
    ... on Gap { cursor }
  }
}`;
