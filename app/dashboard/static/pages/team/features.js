// What is switched on for the team, and whether its agents may write to each other.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { badge, button, card } from '../../parts.js';

const FLAGS = mutation('setFeatureFlags', 'SetFeatureFlagsInput', 'TeamPayload { team { id } }');
const POLICY = mutation('setMessagePolicy', 'SetMessagePolicyInput', 'TeamPayload { team { id } }');
const TEXTS = {
  AGENT_COLLABORATION: ['Routing among agents', 'Messages are routed among agents; off: the named or the default agent answers.'],
  EXPERT_GATE: ['Expert gate', 'Routing weighs every agent on four signals; off: by a fixed order of reasons.'],
  ENSEMBLE_MODE: ['Several answers', 'More than one agent may answer a message.'],
  TASK_DELEGATION: ['Delegation', 'Agents may delegate tasks to each other.'],
  COLLABORATION: ['Sessions', 'Agents may run collaboration sessions.'],
};
const POLICIES = {
  OPEN: ['Open', 'Agents may write to each other, directly and to the whole team.'],
  HUB_AND_SPOKE: ['Hub and spoke', 'Agents reach each other by task, handoff or consultation only, and write only in channels that they have part in.'],
};

export function features({ team }, page) {
  return h('div', { class: 'cards' },
    card({ title: 'Features' }, h('ul', { class: 'rows' }, team.featureFlags.map((state) => flagRow(state, page)))),
    card({ title: 'Messages between agents' }, policy(team, page)));
}

function flagRow({ flag, enabled, overridden }, page) {
  const [title, text] = TEXTS[flag];
  const set = (value) => () => page.act(FLAGS, { flags: [{ flag, enabled: value }] }, { done: value === null ? `${title}: as the installation says` : `${title} is ${value ? 'on' : 'off'}`, name: flag });
  const may = page.can('CONFIGURE_TEAM');
  return h('li', { key: flag, class: 'row flag' },
    h('div', null, h('strong', null, title), h('p', { class: 'quiet' }, text), overridden && may && h('div', null, button('Leave it to the installation', set(null), { kind: 'quiet', 'aria-label': `${title}: leave it to the installation`, disabled: page.isBusy(flag) }))),
    may ? h('button', { type: 'button', role: 'switch', class: 'switch', 'aria-checked': String(enabled), 'aria-label': title, disabled: page.isBusy(flag), onclick: set(!enabled) }, h('span', { 'aria-hidden': 'true' }))
      : badge(enabled ? 'On' : 'Off', enabled ? 'good' : 'calm'));
}

function policy(team, page) {
  if (!page.can('CONFIGURE_TEAM')) return h('p', null, h('strong', null, POLICIES[team.messagePolicy][0]), `: ${POLICIES[team.messagePolicy][1]}`);
  const choose = (value) => () => page.act(POLICY, { policy: value }, { done: `Messages: ${POLICIES[value][0].toLowerCase()}` });
  return h('fieldset', { class: 'choices', disabled: page.isBusy(POLICY.field) }, h('legend', { class: 'unseen' }, 'Message policy'),
    Object.entries(POLICIES).map(([value, [title, text]]) => h('label', { key: value, class: 'check' }, h('input', { type: 'radio', name: 'policy', value, checked: team.messagePolicy === value, onchange: choose(value) }), h('span', null, title, h('small', null, text)))));
}
