// What the inbox reads: one agent's entries, or all messages of the team.

import { CHOICES } from '../../parts.js';

const AGENT = '{ id name }';
const PAGE_INFO = 'totalCount pageInfo { hasNextPage endCursor }';
const MESSAGE = `{
  id type subject body channel channelKind sentAt expiresAt expired recipientCount
  sender ${AGENT} recipient ${AGENT} task { id title } replyTo { id subject body sender ${AGENT} }
}`;
const BOXES = `${CHOICES.replace('{ id name status }', '{ id name status unreadCount }')}`;

export const TYPES = ['TASK_REQUEST', 'TASK_STATUS', 'TASK_RESULT', 'INFO_REQUEST', 'INFO_RESPONSE', 'REVIEW_REQUEST', 'REVIEW_RESULT', 'COLLAB_INVITE', 'COLLAB_UPDATE', 'HANDOFF_REQUEST', 'FEEDBACK', 'NOTIFICATION'];
export const CHANNELS = ['DIRECT', 'TEAM', 'TASK', 'COLLABORATION'];

export const INBOX = `query Inbox($agent: ID!, $where: InboxEntryFilter, $after: Cursor) {
  owner: node(id: $agent) {
    ... on Agent {
      id name unreadCount
      inbox(first: 30, after: $after, where: $where, orderBy: [{ field: UNREAD, direction: DESC }, { field: RECEIVED_AT, direction: DESC }]) {
        ${PAGE_INFO} nodes { id cursor unread readAt receivedAt message ${MESSAGE} }
      }
    }
  }
  ${BOXES}
}`;

export const TRAFFIC = `query Traffic($where: AgentMessageFilter, $after: Cursor) {
  agentMessages(first: 30, after: $after, where: $where, orderBy: [{ field: SENT_AT, direction: DESC }]) { ${PAGE_INFO} nodes ${MESSAGE} }
  ${BOXES}
}`;

export const INBOX_STREAM = `subscription Inbox($agent: ID!, $after: Cursor) {
  inboxEvents(agentId: $agent, after: $after) { __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

export const TRAFFIC_STREAM = `subscription Traffic($after: Cursor) {
  teamEvents(after: $after, kinds: [AGENT_MESSAGE_RECEIVED, INBOX_ACKNOWLEDGED]) { __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;
