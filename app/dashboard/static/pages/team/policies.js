// The versions of the routing policy: how much each signal counted, since when, and why.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { words } from '../../format.js';
import { badge, button, card, empty, field, formDialog, linkButton, more, time } from '../../parts.js';
import { to } from '../../router.js';
import { SIGNALS } from '../decision/signals.js';
import { settingsOf } from '../simulate/settings.js';

const SET = mutation('setRoutingPolicy', 'SetRoutingPolicyInput', 'RoutingPolicyPayload { policy { id version } }');

export function policies(data, page) {
  const { nodes } = data.routingPolicies;
  const actions = linkButton('Try other settings', to('/simulate'), { icon: 'simulate' });
  return [
    card({ title: 'Routing policy', subtitle: 'The highest version counts; decisions keep the one they were made under', actions },
      nodes.length ? [legend(), h('ul', { class: 'rows' }, nodes.map((policy, index) => row(policy, index === 0, page))), more(page, 'routingPolicies', 'policies')]
        : empty({ icon: 'routing', title: 'The defaults count', text: 'The first message that is routed, or the first change, makes version 1.' })),
    page.state.dialog === 'policy' && againDialog(page.state.draft, nodes[0], page),
  ];
}

const legend = () => h('ul', { class: 'legend' }, SIGNALS.map(({ name, title, look }) => h('li', { key: name }, h('span', { class: `legend-mark ${look}` }), title)));

function row(policy, counts, page) {
  return h('li', { key: policy.id, class: 'row policy' },
    h('div', { class: 'candidate-head' }, h('strong', null, `Version ${policy.version}`), counts && badge('Counts now', 'good'),
      h('span', { class: 'row-meta' }, h('span', null, `by ${policy.createdBy}`), time(policy.createdAt)),
      !counts && page.can('CONFIGURE_TEAM') && button('Use again', () => page.set({ dialog: 'policy', draft: policy, trouble: null }), { kind: 'quiet', 'aria-label': `Use version ${policy.version} again` })),
    h('div', { class: 'score', role: 'img', 'aria-label': SIGNALS.map(({ name, title }) => `${title} ${policy.weights[name]}`).join(', ') },
      SIGNALS.map(({ name, look }) => h('span', { key: name, class: `score-part ${look}`, style: { width: `${policy.weights[name] * 100}%` } }))),
    h('span', { class: 'row-meta' }, SIGNALS.map(({ name, short }) => h('span', { key: name }, `${short} ${policy.weights[name].toFixed(2)}`)), h('span', null, `threshold ${policy.threshold.toFixed(2)}`), h('span', null, `skill floor ${policy.skillFloor.toFixed(2)}`), h('span', null, `${words(policy.strategy)}${policy.strategy === 'TOP_K' ? `, k ${policy.k}` : ''}`)),
    policy.note && h('p', null, policy.note));
}

function againDialog(policy, now, page) {
  const input = ({ note }) => ({ ...settingsOf(policy), note, expectedVersion: now.version });
  return formDialog(page, { title: `Use version ${policy.version} again?`, change: SET, input, submit: `Make version ${now.version + 1}`, done: 'The policy counts from now on' }, (trouble) => [
    h('p', null, `Its settings become version ${now.version + 1} and count for every message from now on.`),
    field({ label: 'Why', name: 'note', rows: 2, maxlength: 500, value: `As version ${policy.version}`, error: trouble?.problem('note') }),
  ]);
}
