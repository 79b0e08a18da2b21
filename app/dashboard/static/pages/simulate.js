// What another routing policy would have changed: sliders on the left, the history replayed on the right.

import { mutation } from '../api.js';
import { h } from '../dom.js';
import { words } from '../format.js';
import { button, card, empty, field, formDialog, linkButton, skeleton, troubled } from '../parts.js';
import { endQuestions, questionOf } from '../question.js';
import { to } from '../router.js';
import { SIGNALS } from './decision/signals.js';
import { controls } from './simulate/controls.js';
import { results, SIMULATE } from './simulate/results.js';
import { changesOf, isChanged, settingsOf } from './simulate/settings.js';

const PAUSE_MS = 700;  // a simulation costs a tenth of what a key may spend in a minute: not one for each step of a slider
const QUERY = `{ routingPolicy { id version strategy k threshold skillFloor weights { ${SIGNALS.map(({ name }) => name).join(' ')} } } }`;
const STREAM = `subscription Policies($after: Cursor) {
  teamEvents(after: $after, kinds: [ROUTING_POLICY_CHANGED]) { __typename ... on Event { cursor } ... on CaughtUp { cursor } ... on Gap { cursor } }
}`;
const SET = mutation('setRoutingPolicy', 'SetRoutingPolicyInput', 'RoutingPolicyPayload { policy { id version } }');

export default {
  name: 'simulate',
  path: '/simulate',
  title: 'Simulate',
  nav: { label: 'Simulate', icon: 'simulate', group: 'Decisions' },
  needs: 'READ_TEAM',
  state: { settings: null, started: false, history: '-P30D', dialog: null, trouble: null },

  data: ({ can }) => ({ query: QUERY, stream: can('READ_EVENTS') ? STREAM : null }),

  view({ routingPolicy: policy }, page) {
    if (!policy) return card({}, empty({ icon: 'simulate', title: 'Nothing to replay yet', text: 'As soon as the first message was routed, its decision can be made again under other settings.', action: linkButton('Start a conversation', to('/conversations')) }));
    page.state.settings ??= settingsOf(policy);
    const question = questionOf(page, 'simulation');
    const run = () => ask(page, question);
    if (!page.state.started) run();
    return h('div', { class: 'simulate' },
      h('div', { class: 'column simulate-side' },
        controls(page, policy, { change: (settings) => page.set({ settings }), settle: run }),
        page.can('CONFIGURE_TEAM') && isChanged(page.state.settings, policy) && button('Use these settings', () => page.set({ dialog: 'save' }), { kind: 'primary' }),
        progress(question)),
      h('div', { class: ['column', question.busy && question.data && 'is-stale'], 'aria-busy': String(question.busy) }, outcome(question, run)),
      page.state.dialog && saveDialog(page, policy));
  },

  leave: endQuestions,
};

function ask(page, question) {
  page.state.started = true;
  const { settings, history } = page.state;
  const where = history === 'all' ? {} : { createdAt: { gte: history } };
  question.ask(SIMULATE, { ...settings, where }, { afterMs: question.data ? PAUSE_MS : 0 });
}

function progress(question) {
  return h('div', { class: 'simulating', role: 'status' }, question.busy && [
    h('span', { class: 'spinner', 'aria-hidden': 'true' }), h('span', null, 'Replaying the history …'),
    button('Cancel', () => { question.cancel(); question.page.redraw(); }, { kind: 'quiet' }),
  ]);
}

function outcome({ data, trouble, busy }, run) {
  if (trouble && !busy) return card({}, troubled(trouble, run));
  if (!data) return busy ? skeleton(3) : card({}, h('p', null, 'Cancelled. Move a slider to simulate again.'));
  return results(data.simulateRouting);
}

function saveDialog(page, policy) {
  const changes = changesOf(page.state.settings, policy);
  const named = Object.keys(changes).map((name) => words(name.replace(/[A-Z]/g, (letter) => `_${letter}`)).toLowerCase()).join(', ');
  const input = ({ note }) => ({ ...changes, note, expectedVersion: policy.version });
  return formDialog(page, { title: 'Use these settings', change: SET, input, submit: `Make version ${policy.version + 1}`, done: 'The new policy counts from now on' }, (trouble) => [
    h('p', null, `Every message from now on is routed by them. Changed: ${named}.`),
    field({ label: 'Why', name: 'note', rows: 2, maxlength: 500, error: trouble?.problem('note'), hint: 'Stands beside the version, for whoever asks later.' }),
  ]);
}
