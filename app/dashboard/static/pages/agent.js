// One agent: who it is, how it does, what it has to do, what it remembers, what happened to it.

import { h } from '../dom.js';
import { EVENT_FIELDS, eventLine } from '../events.js';
import { cut, money, plural, words } from '../format.js';
import { keepEvent } from '../live.js';
import { avatar, badge, bar, button, card, copyId, empty, facts, foldedProse, linkButton, status, time } from '../parts.js';
import { to } from '../router.js';
import { acts, dialogs } from './agent/acts.js';
import { availability, record } from './agent/record.js';

const FEED = 60;
const QUERY = `query Agent($id: ID!, $mayRead: Boolean!) {
  node(id: $id) { ... on Agent {
    id slug name tagline role personality type customType status runtime modelTier tools version createdAt updatedAt archivedAt unreadCount
    skills { name description } traits { formality humor technicalDepth }
    availability { available reason activeTasks activeConversations estimatedWaitSeconds }
    record: trackRecord {
      attempts tasksEnded tasksCompleted successShare toolCalls workSeconds medianAttemptSeconds p95AttemptSeconds firstChoices
      selections medianResponseSeconds p95ResponseSeconds ratings meanStars attemptCost answerCost
    }
    tasks(first: 8, orderBy: [{ field: CREATED_AT, direction: DESC }]) { totalCount nodes { id title status createdAt cost creator { name } } }
    memories(first: 20) { totalCount nodes { id kind text importance timesTold updatedAt } }
    groups(first: 20) { nodes { id slug name } }
  } }
  events(last: 40, where: { agentId: { eq: $id } }) @include(if: $mayRead) { nodes { ${EVENT_FIELDS} } }
}`;
const STREAM = `subscription Agent($id: ID!, $after: Cursor) {
  agentEvents(agentId: $id, after: $after) { __typename ... on Event { ${EVENT_FIELDS} } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;
const TRAITS = [['Formality', 'formality', 'casual', 'formal'], ['Humor', 'humor', 'dry', 'playful'], ['Technical depth', 'technicalDepth', 'plain words', 'deep detail']];

const feedOf = (data) => data.feed ?? [...(data.events?.nodes ?? [])].reverse();

/** Events that were followed stay in front of those that were read anew. */
function merge(old, fresh) {
  const read = feedOf(fresh);
  const known = new Set(read.map((event) => event.id));
  return { ...fresh, feed: [...feedOf(old).filter((event) => !known.has(event.id)), ...read].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, FEED) };
}

export default {
  name: 'agent',
  path: '/agents/:id',
  title: (data) => data?.node?.name ?? 'Agent',
  under: '/agents',
  needs: 'READ_TEAM',
  state: { dialog: null, trouble: null, draft: null },

  data: ({ can, params, viewer }) => ({
    query: QUERY,
    variables: { id: params.id, mayRead: can('READ_EVENTS') },
    stream: can('READ_EVENTS') || viewer.agent?.id === params.id ? STREAM : null,
    streamVariables: { id: params.id },
    fold: (data, event) => ({ ...data, feed: keepEvent(feedOf(data), event, FEED) }),
    reloads: () => true,
    merge,
  }),

  view(data, page) {
    const agent = data.node;
    if (!agent?.id) return empty({ icon: 'agent', title: 'There is no such agent', text: 'It may belong to another team.', action: linkButton('All agents', to('/agents')) });
    return [
      h('div', { class: 'two-columns' },
        h('div', { class: 'column' }, about(agent, page), skills(agent), tasks(agent), memories(agent, page)),
        h('div', { class: 'column' }, availability(agent), record(agent), traits(agent), page.can('READ_EVENTS') && history(data))),
      dialogs(agent, page),
    ];
  },
};

function about(agent, page) {
  return card({ class: 'about' },
    h('div', { class: 'about-head' }, avatar(agent, { size: 'large' }),
      h('div', { class: 'about-names' }, h('h2', null, agent.name), h('p', { class: 'quiet' }, agent.tagline || `@${agent.slug}`)),
      h('div', { class: 'card-actions' }, acts(agent, page))),
    agent.role && h('p', { class: 'about-role' }, agent.role),
    agent.personality ? foldedProse(agent.personality) : h('p', { class: 'quiet' }, 'No personality written yet.'),
    facts([
      ['Mention', `@${agent.slug}`],
      ['Type', agent.customType ?? words(agent.type)],
      ['Runs', agent.runtime === 'MANAGED' ? 'by Parley’s workers' : 'by a program of yours'],
      ['Model tier', `${agent.modelTier}, ${['small', 'medium', 'large'][agent.modelTier]}`],
      ['Groups', agent.groups.nodes.length > 0 && h('span', { class: 'chips' }, agent.groups.nodes.map((group) => h('a', { key: group.id, href: to('/team', {}, { tab: 'groups' }) }, group.name)))],
      ['Tools', agent.tools.length > 0 && h('span', { class: 'chips' }, agent.tools.map((tool) => h('code', { key: tool }, tool)))],
      ['Version', h('span', null, `${agent.version}, changed `, time(agent.updatedAt))],
      ['Id', copyId(agent.id)],
    ]));
}

function skills(agent) {
  return card({ title: 'Skills', subtitle: 'Best first; messages are matched against them' }, agent.skills.length
    ? h('ul', { class: 'rows' }, agent.skills.map((skill) => h('li', { key: skill.name, class: 'row' }, h('strong', null, skill.name), skill.description && h('span', { class: 'quiet' }, skill.description))))
    : h('p', { class: 'quiet' }, 'None: routing can choose it only by name, or as the default agent.'));
}

function tasks(agent) {
  const { nodes, totalCount } = agent.tasks;
  return card({ title: 'Tasks', actions: totalCount > nodes.length && linkButton(`All ${plural(totalCount, 'task')}`, to('/tasks', {}, { assignee: agent.id }), { kind: 'quiet' }) }, nodes.length
    ? h('ul', { class: 'rows' }, nodes.map((task) => h('li', { key: task.id, class: 'row' },
      h('a', { class: 'row-link row-text', href: to('/tasks/:id', { id: task.id }) }, cut(task.title, 120)),
      h('span', { class: 'row-meta' }, status(task.status), task.creator && h('span', null, `from ${task.creator.name}`), h('span', null, money(task.cost)), time(task.createdAt)))))
    : h('p', { class: 'quiet' }, 'It was never given a task.'));
}

function memories(agent, page) {
  const { nodes, totalCount } = agent.memories;
  return card({ title: 'Memories', subtitle: totalCount > nodes.length ? `The first ${nodes.length} of ${totalCount} of its own` : 'What it alone remembers; the team’s come on top' }, nodes.length
    ? h('ul', { class: 'rows' }, nodes.map((memory) => h('li', { key: memory.id, class: 'row memory' },
      h('div', null, h('p', null, cut(memory.text, 400)),
        h('span', { class: 'row-meta' }, badge(words(memory.kind)), h('span', null, `importance ${memory.importance.toFixed(1)}`), memory.timesTold > 1 && h('span', null, `told ${memory.timesTold} times`), time(memory.updatedAt))),
      page.can('WRITE_MEMORIES') && button('Forget', () => page.set({ dialog: { forget: memory } }), { kind: 'quiet', 'aria-label': `Forget: ${cut(memory.text, 60)}` }))))
    : h('p', { class: 'quiet' }, 'Nothing of its own yet.'));
}

function traits(agent) {
  return card({ title: 'Traits' }, h('div', { class: 'bars' }, TRAITS.map(([title, name, low, high]) => h('div', { key: name, title: `0 ${low}, 1 ${high}` }, bar(agent.traits[name], { label: title, value: agent.traits[name].toFixed(2) })))));
}

function history(data) {
  const events = feedOf(data);
  return card({ title: 'History' }, events.length ? h('ol', { class: 'feed', tabindex: '0', 'aria-label': 'History' }, events.map(eventLine)) : h('p', { class: 'quiet' }, 'Nothing is known of it in the time that events are kept.'));
}
