// One consultation: what was asked and answered, who was chosen and why, what it took, and where it went in circles.

import { h } from '../dom.js';
import { duration, money, words } from '../format.js';
import { agentLink, badge, card, CHOICES, copyId, empty, facts, linkButton, status, time } from '../parts.js';
import { to } from '../router.js';
import { ITEM } from './attention/query.js';
import { answerForm } from './attention/answer.js';
import { actions, dialogs } from './consultation/acts.js';
import { exchanges } from './consultation/exchanges.js';
import { TONES } from './consultation/kinds.js';
import { about, costs, loops } from './consultation/side.js';

const AGENT = '{ id name }';
const TASK = '{ id title status }';

const QUERY = `query Consultation($id: ID!) {
  consultation(id: $id) {
    id question reason urgency context status chosenBecause suggestionFollowed escalationReason loopDetected depth exchangeCount tokensUsed cost
    responseSeconds outcome successful summary rating lessons onBehalfOf createdAt endedAt
    requester ${AGENT} specialist ${AGENT} suggestedAgent ${AGENT} task ${TASK} askingTask ${TASK}
    routingDecision { id explanation } memory { id text }
    exchanges(last: 60) { totalCount nodes {
      id number kind author content additionalContext references suggestedNextSteps contextPackage createdAt fromAgent ${AGENT} toAgent ${AGENT} task ${TASK}
      uses(first: 8) { nodes { id phase tokensUsed cost } }
    } }
    uses(last: 100) { nodes { id phase tokensUsed cost } }
    loops(last: 10) { nodes { id kind description evidence resolution note detectedAt } }
  }
  attention(first: 5, where: { consultationId: { eq: $id } }, orderBy: [{ field: CREATED_AT, direction: DESC }]) { nodes { ${ITEM} } }
  ${CHOICES}
}`;

const STREAM = `subscription Consultation($id: ID!, $after: Cursor) {
  consultationEvents(consultationId: $id, after: $after) { __typename ... on Event { id kind cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;

export default {
  name: 'consultation',
  path: '/consultations/:id',
  title: 'Consultation',
  under: '/consultations',
  needs: 'READ_TEAM',
  state: { dialog: null, mine: new Set(), refused: null },

  data: ({ can, params, viewer }) => ({
    query: QUERY,
    variables: { id: params.id },
    stream: can('READ_EVENTS') || viewer.agent ? STREAM : null,
    streamVariables: { id: params.id },
  }),

  view(data, page) {
    const { consultation } = data;
    if (!consultation) return empty({ icon: 'consultation', title: 'There is no such consultation', text: 'It may belong to another team, or your key may not see it.', action: linkButton('To the consultations', to('/consultations')) });
    const waiting = data.attention.nodes.find(({ status }) => status === 'OPEN');
    return [
      h('div', { class: 'split', key: 'split' },
        h('div', { class: 'split-main' },
          head(consultation, page),
          waiting && h('p', { class: 'notice tone-wait', key: 'waits' }, `A person has to decide. ${consultation.escalationReason ?? ''}`),
          waiting && page.can('ANSWER_ATTENTION') && answerForm(waiting, data, page),
          exchanges(consultation)),
        h('div', { class: 'split-side' }, about(consultation), costs(consultation), loops(consultation))),
      dialogs(data, page),
    ];
  },
};

function head(one, page) {
  const acts = actions(one, page);
  return card({ class: 'subject' },
    h('div', { class: 'subject-line' }, status(one.status, { tone: TONES[one.status] }), h('span', null, words(one.reason)), one.urgency !== 'NORMAL' && badge(words(one.urgency), one.urgency === 'LOW' ? 'calm' : 'wait'), one.loopDetected && badge('Loop', 'bad'), copyId(one.id),
      acts.length > 0 && h('div', { class: 'subject-actions' }, acts)),
    h('h2', { class: 'subject-title' }, one.question),
    facts([
      ['Asked', agentLink(one.requester)],
      ['Answers', one.specialist ? agentLink(one.specialist) : h('span', { class: 'quiet' }, 'nobody suited')],
      ['Outcome', one.outcome && words(one.outcome)],
      ['First answer after', one.responseSeconds !== null && duration(one.responseSeconds)],
      ['Cost', money(one.cost)],
      ['Helped', one.rating && `${one.rating} of 5`],
      ['Asked at', time(one.createdAt)],
    ]),
    one.lessons && h('div', { class: 'part' }, h('h3', null, 'Lessons'), h('p', { class: 'prose' }, one.lessons)));
}
