// What the team does now: its agents, what happens, what needs a person, what it costs.

import { mutation } from '../api.js';
import { h } from '../dom.js';
import { EVENT_FIELDS, eventLine } from '../events.js';
import { count, cut, duration, money, plural, utcDay, words } from '../format.js';
import { keepEvent } from '../live.js';
import { avatar, card, empty, figure, gauge, iconButton, linkButton, sessionStatus, status, time } from '../parts.js';
import { to } from '../router.js';
import { sampleButtons } from '../sample_buttons.js';

const FEED = 120;
const QUIET = new Set(['TASK_PROGRESSED']);  // too many, and too small, for a feed and a reading of all figures each
const BUDGET = '{ cap spent reserved remaining }';

const QUERY = `query Overview($since: Moment!, $feed: Int!, $mayRead: Boolean!) {
  team { name dayBudgetUsd monthBudgetUsd dayBudget ${BUDGET} monthBudget ${BUDGET} featureFlags { flag enabled } }
  agents(first: 60, where: { status: { in: [ACTIVE, PAUSED] } }) {
    totalCount
    nodes {
      id slug name tagline status runtime unreadCount
      availability { activeTasks }
      running: tasks(first: 1, where: { status: { eq: IN_PROGRESS } }, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
        totalCount nodes { id title }
      }
      today: trackRecord(since: $since) { attemptCost toolCalls workSeconds tasksCompleted }
    }
  }
  attention(first: 5, where: { status: { eq: OPEN } }, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount nodes { id kind title createdAt deadline agent { id name } }
  }
  collaborationSessions(first: 5, orderBy: [{ field: CREATED_AT, direction: DESC }]) {
    totalCount nodes { id pattern goal status createdAt cost }
  }
  events(last: $feed, where: { kind: { ne: TASK_PROGRESSED } }) @include(if: $mayRead) { nodes { ${EVENT_FIELDS} } }
}`;

const STREAM = `subscription Overview($after: Cursor) {
  teamEvents(after: $after) {
    __typename ... on Event { ${EVENT_FIELDS} } ... on CaughtUp { cursor } ... on Gap { cursor message }
  }
}`;

const PAUSE = mutation('pauseAgent', 'PauseAgentInput', 'AgentPayload { agent { id status } }');
const RESUME = mutation('resumeAgent', 'ResumeAgentInput', 'AgentPayload { agent { id status } }');

const newestFirst = (data) => ({ ...data, feed: [...(data.events?.nodes ?? [])].reverse() });

/** The feed goes on from what was followed; what was read anew only fills it where the stream left a hole. */
function merge(old, fresh) {
  const read = newestFirst(fresh).feed;
  const known = new Set(read.map((event) => event.id));
  const newer = (feedOf(old)).filter((event) => !known.has(event.id));
  const feed = [...newer, ...read].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, FEED);
  return { ...fresh, feed };
}

const feedOf = (data) => data.feed ?? newestFirst(data).feed;

export default {
  name: 'overview',
  path: '/',
  title: 'Overview',
  nav: { label: 'Overview', icon: 'overview', phone: true },
  needs: 'READ_TEAM',

  data: ({ can }) => ({
    query: QUERY,
    variables: { get since() { return utcDay(); }, feed: 40, mayRead: can('READ_EVENTS') },  // a window stays open over midnight
    stream: can('READ_EVENTS') ? STREAM : null,
    fold: (data, event) => (QUIET.has(event.kind) ? data : { ...data, feed: keepEvent(feedOf(data), event, FEED) }),
    reloads: (event) => !QUIET.has(event.kind),
    merge,
  }),

  view: (data, page) => [
    h('div', { class: 'overview' },
      h('div', { class: 'overview-main' }, agents(data, page), sessions(data, page)),
      h('div', { class: 'overview-side' }, needsPerson(data), budget(data.team, page), page.can('READ_EVENTS') && feed(data))),
  ],
};

function agents(data, page) {
  const { nodes } = data.agents;
  if (!nodes.length) {
    return card({ title: 'Agents' }, empty({ icon: 'agent', title: 'No agents yet', text: 'Create one, or apply a team file: docs/team-file.md.', action: page.can('WRITE_AGENTS') && linkButton('To the agents', to('/agents')) }));
  }
  const working = nodes.filter((agent) => agent.running.totalCount > 0).length;
  return h('section', { class: 'agents', 'aria-label': 'Agents' },
    h('header', { class: 'section-head' }, h('h2', null, 'Agents'), h('p', { class: 'quiet' }, `${working} of ${plural(nodes.length, 'agent')} at work`)),
    h('ul', { class: 'agent-grid' }, nodes.map((agent) => h('li', { key: agent.id }, agentCard(agent, page)))));
}

function agentCard(agent, page) {
  const running = agent.running.totalCount;
  const waiting = Math.max(0, agent.availability.activeTasks - running);
  const [task] = agent.running.nodes;
  return h('article', { class: ['agent-card', running && 'is-working'], 'aria-label': agent.name },
    h('header', null,
      avatar(agent),
      h('div', { class: 'agent-names' }, h('h3', null, h('a', { href: to('/agents/:id', { id: agent.id }) }, agent.name)), h('p', null, agent.tagline)),
      page.can('CONTROL_AGENTS') && control(agent, page)),
    h('p', { class: 'agent-now' },
      agent.status === 'PAUSED' ? status('PAUSED') : running ? status('IN_PROGRESS', { text: plural(running, 'task') }) : status('IDLE', { text: 'Idle' }),
      task ? h('a', { class: 'agent-task', href: to('/tasks/:id', { id: task.id }) }, task.title) : h('span', { class: 'agent-task quiet' }, waiting ? `${plural(waiting, 'task')} waiting` : 'Nothing to do')),
    h('div', { class: 'figures' },
      figure(count(waiting), 'waiting'),
      figure(count(agent.today.toolCalls), 'calls'),
      figure(duration(agent.today.workSeconds), 'worked'),
      figure(money(agent.today.attemptCost), 'today'),
      figure(count(agent.unreadCount), 'unread', { tone: agent.unreadCount ? 'wait' : undefined })));
}

function control(agent, page) {
  const paused = agent.status === 'PAUSED';
  const turn = () => page.act(paused ? RESUME : PAUSE, { agentId: agent.id, ...(paused ? {} : { reason: 'paused in the dashboard' }) }, { done: `${agent.name} is ${paused ? 'back' : 'paused'}`, name: agent.id });
  return iconButton(`${paused ? 'Resume' : 'Pause'} ${agent.name}`, paused ? 'play' : 'pause', turn, { disabled: page.isBusy(agent.id) });
}

function sessions(data, page) {
  const { nodes, totalCount } = data.collaborationSessions;
  const starts = page.can('START_COLLABORATIONS') && sampleButtons({ agents: data.agents.nodes, featureFlags: data.team.featureFlags }, page);
  return card({ title: 'Sessions', subtitle: 'Agents working on one goal together', actions: totalCount > nodes.length && linkButton('All sessions', to('/sessions'), { kind: 'quiet' }) },
    nodes.length ? h('ul', { class: 'rows' }, nodes.map(sessionRow))
      : empty({ icon: 'session', title: 'No session yet', text: starts ? 'Start a sample below and watch it run.' : 'They appear here as soon as somebody starts one.' }),
    starts);
}

function sessionRow(session) {
  return h('li', { key: session.id, class: 'row' },
    h('a', { class: 'row-link row-text', href: to('/sessions/:id', { id: session.id }) }, cut(session.goal, 140)),
    h('span', { class: 'row-meta' }, sessionStatus(session.status), h('span', null, words(session.pattern)), time(session.createdAt)));
}

function needsPerson({ attention }) {
  return card({ title: 'Needs a person', class: attention.nodes.length ? 'first-on-phones' : '', actions: attention.totalCount > 0 && linkButton(`All ${count(attention.totalCount)}`, to('/attention'), { kind: 'quiet' }) },
    attention.nodes.length
      ? h('ul', { class: 'rows' }, attention.nodes.map((item) => h('li', { key: item.id, class: 'row' },
        h('a', { class: 'row-link row-text', href: to('/attention', {}, { item: item.id }) }, cut(item.title, 120)),
        h('span', { class: 'row-meta' }, status('OPEN', { text: words(item.kind) }), item.agent?.name, item.deadline ? h('span', null, 'due ', time(item.deadline)) : time(item.createdAt)))))
      : h('p', { class: 'calm-line' }, 'Nothing waits for you.'));
}

function budget(team, page) {
  const rows = [['Today', team.dayBudget, team.dayBudgetUsd], ['This month', team.monthBudget, team.monthBudgetUsd]];
  return card({ title: 'Budget', actions: page.can('CONFIGURE_TEAM') && linkButton('Change', to('/team', {}, { tab: 'budgets' }), { kind: 'quiet' }) },
    rows.map(([name, account, cap]) => budgetRow(name, account, cap)));
}

function budgetRow(name, account, set) {
  const cap = Number(account?.cap ?? set ?? 0);
  const spent = Number(account?.spent ?? 0);
  const reserved = Number(account?.reserved ?? 0);
  const told = `${name}: ${money(spent)} spent and ${money(reserved)} reserved of ${cap ? money(cap) : 'no limit'}`;
  return h('div', { class: 'budget', key: name },
    h('p', null, h('span', null, name), h('span', null, h('strong', null, money(spent)), cap ? ` of ${money(cap)}` : ' spent')),
    gauge({ spent: cap ? spent / cap : 0, reserved: cap ? reserved / cap : 0, label: told }),
    reserved > 0 && h('p', { class: 'quiet' }, `${money(reserved)} reserved for work under way`));
}

function feed(data) {
  const events = feedOf(data);
  return card({ title: 'Activity', class: 'activity' },
    events.length ? h('ol', { class: 'feed' }, events.map(eventLine)) : empty({ icon: 'overview', title: 'Nothing happened yet', text: 'Start a sample session, or delegate a task.' }));
}
