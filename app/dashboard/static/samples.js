// A sample session of each pattern, for a team that has nothing to look at yet. They come to an end without any provider:
// the offline model votes for the options that a participant's own instructions name. It approves nothing, as it can
// verify nothing, so its review ends with the rounds; a real model's may agree.

import { mutation } from './api.js';

export const START = mutation('startCollaboration', 'StartCollaborationInput', 'CollaborationPayload { collaboration { id } }', 'ParticipantsUnsuitable { role least most found }');

const CONTEXT = 'We launch in Europe in eight weeks. Two people can work on it. Users ask for speed before features.';

/** `cast` names roles in order; agents are taken from the team as they come, the preferred ones first. */
export const SAMPLES = [
  {
    pattern: 'SUPERVISOR_WORKER', title: 'Supervisor and workers', text: 'A lead splits the work, others do it side by side.',
    goal: 'Plan the launch of the new search: what to measure, what to build, what to tell people.',
    cast: [['LEAD', 'kyra'], ['WORKER', 'ada'], ['WORKER', 'zara'], ['WORKER', 'max']],
  },
  {
    pattern: 'PIPELINE', title: 'Pipeline', text: 'Stage after stage, each with all outputs before it.',
    goal: 'Turn the outline of the release notes into a page that people want to read.',
    cast: [['WORKER', 'zara', 'Facts'], ['WORKER', 'max', 'Draft'], ['WORKER', 'luke', 'Proofread']],
  },
  {
    pattern: 'PEER_REVIEW', title: 'Peer review', text: 'Work, review and revision until the reviewers agree. The offline model never does.',
    goal: 'Write the query that finds users who left after the last price change.',
    cast: [['WORKER', 'ada'], ['REVIEWER', 'luke'], ['REVIEWER', 'zara']], maxRounds: 2,
  },
  {
    pattern: 'BRAINSTORM', title: 'Brainstorm', text: 'Views that nobody influenced, then one summary.',
    goal: 'How could the welcome page show in ten seconds what Parley is for?',
    cast: [['LEAD', 'kyra'], ['CONTRIBUTOR', 'max'], ['CONTRIBUTOR', 'zara'], ['CONTRIBUTOR', 'chef']],
  },
  {
    pattern: 'CONSENSUS', title: 'Consensus', text: 'Votes with reasons, until two thirds agree.',
    goal: 'Do we ship the cache before the launch?', options: ['ship it', 'wait'],
    cast: [['CONTRIBUTOR', 'luke', null, 'Options: ship it'], ['CONTRIBUTOR', 'ada', null, 'Options: ship it'], ['CONTRIBUTOR', 'zara', null, 'Options: wait']],
  },
  {
    pattern: 'DELEGATION', title: 'Delegation', text: 'One piece of work for one agent.',
    goal: 'Plan a dinner for twelve, two of them vegan.',
    cast: [['WORKER', 'chef']],
  },
];

/** The input of a sample with this team's agents; null when it has too few. */
export function sampleInput(sample, agents) {
  const free = agents.filter((agent) => agent.status === 'ACTIVE' && agent.runtime === 'MANAGED');
  if (free.length < sample.cast.length) return null;
  const participants = [];
  for (const [role, slug, stage, instructions] of sample.cast) {
    const index = Math.max(0, free.findIndex((agent) => agent.slug === slug));
    const [agent] = free.splice(index, 1);
    participants.push({ agentId: agent.id, role, stage: stage ?? null, instructions: instructions ?? '' });
  }
  const { pattern, goal, options = null, maxRounds = null } = sample;
  return { pattern, goal, context: CONTEXT, participants, options, maxRounds };
}
