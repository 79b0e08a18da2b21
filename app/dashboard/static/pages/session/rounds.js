// Who voted or judged what, why, and how far they agreed, round after round.

import { h } from '../../dom.js';
import { percent, plural, words } from '../../format.js';
import { agentLink, avatar, badge, foldedRich } from '../../parts.js';

const VERDICT_TONES = { approved: 'good', changes_requested: 'wait', rejected: 'bad' };
const DONE_WORK = new Set(['WORK', 'REVISION']);

export const hasRounds = (session) => session.pattern === 'CONSENSUS' || session.stages.nodes.some((stage) => stage.kind === 'REVIEW');

/** The rounds, latest first. */
export function rounds(session) {
  const list = session.pattern === 'CONSENSUS' ? byRound(session.votes.nodes).map(([round, votes]) => voteRound(session, round, votes)) : reviews(session);
  if (!list.length) return h('p', { class: 'quiet' }, session.pattern === 'CONSENSUS' ? 'No vote was counted yet.' : 'No review was written yet.');
  return h('ol', { class: 'rounds' }, list.reverse());
}

function byRound(items) {
  const found = new Map();
  for (const item of items) found.set(item.round, [...(found.get(item.round) ?? []), item]);
  return [...found].sort(([a], [b]) => a - b);
}

function voteRound(session, round, votes) {
  const tally = [...new Set([...session.options, ...votes.map((vote) => vote.choice)])].map((option) => ({ option, votes: votes.filter((vote) => vote.choice === option) }));
  const agreement = Math.max(...tally.map((one) => one.votes.length)) / votes.length;
  const reached = agreement >= session.threshold;
  return h('li', { key: round, class: 'round' },
    roundHead(round, session.maxRounds, badge(`${percent(agreement)} agree`, reached ? 'good' : 'wait'), `needs ${percent(session.threshold)}`),
    h('ul', { class: 'tally' }, tally.map((one) => tallyRow(one, votes.length, session.threshold))),
    h('ul', { class: 'reasons' }, votes.map((vote) => h('li', { key: vote.id }, said(vote.agent, badge(vote.choice, 'accent'), vote.reason)))));
}

function tallyRow({ option, votes }, all, threshold) {
  return h('li', { key: option },
    h('span', { class: 'tally-name' }, option),
    h('span', { class: 'tally-bar', 'aria-hidden': 'true' }, h('span', { class: 'bar-fill tone-accent', style: { '--share': `${(votes.length / all) * 100}%` } }), h('span', { class: 'tally-mark', style: { '--share': `${threshold * 100}%` } })),
    h('span', { class: 'tally-faces', 'aria-hidden': 'true' }, votes.map((vote) => avatar(vote.agent, { size: 'small' }))),
    h('span', { class: 'tally-count' }, plural(votes.length, 'vote')));
}

function reviews(session) {
  return byRound(session.stages.nodes.filter((stage) => stage.kind === 'REVIEW' || DONE_WORK.has(stage.kind)))
    .filter(([, stages]) => stages.some((stage) => stage.kind === 'REVIEW'))
    .map(([round, stages]) => reviewRound(session, round, stages));
}

function reviewRound(session, round, stages) {
  const judged = stages.filter((stage) => stage.kind === 'REVIEW' && !stage.superseded);
  const approved = judged.filter((stage) => stage.data?.verdict === 'approved').length;
  const work = stages.filter((stage) => DONE_WORK.has(stage.kind) && !stage.superseded);
  return h('li', { key: round, class: 'round' },
    roundHead(round, session.maxRounds, badge(`${approved} of ${plural(judged.length, 'reviewer')} approve`, approved === judged.length ? 'good' : 'wait')),
    work.length > 0 && h('div', { class: 'round-work' }, work.map((stage) => h('details', { key: stage.id }, h('summary', null, agentLink(stage.agent), ` ${workName(stage)}`), foldedRich(stage.output)))),
    h('ul', { class: 'reasons' }, judged.map((stage) => h('li', { key: stage.id }, said(stage.agent, verdict(stage), stage.data?.feedback ?? stage.output)))));
}

/** 'work: Draft'; once where the stage is called as its kind. */
function workName({ kind, name }) {
  const said = words(kind).toLowerCase();
  return said === name.toLowerCase() ? said : `${said}: ${name}`;
}

function verdict({ data, status }) {
  if (!data?.verdict) return badge(words(status), 'calm');
  return badge(words(data.verdict), VERDICT_TONES[data.verdict] ?? 'calm');
}

const roundHead = (round, most, result, note) => h('header', { class: 'round-head' }, h('h3', null, `Round ${round}`), h('span', { class: 'quiet' }, `of at most ${most}`), result, note && h('span', { class: 'quiet' }, note));

const said = (agent, choice, reason) => [h('p', { class: 'row-meta' }, agentLink(agent), choice), reason ? foldedRich(reason) : h('p', { class: 'quiet' }, 'No reason given.')];
