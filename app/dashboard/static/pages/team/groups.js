// Groups of agents, to which work can be given as to one agent.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { plural } from '../../format.js';
import { agentLink, badge, button, card, checkbox, empty, field, formDialog, more } from '../../parts.js';

const SAVE = mutation('saveGroup', 'SaveGroupInput', 'GroupPayload { group { id } }');
const DISSOLVE = mutation('dissolveGroup', 'DissolveGroupInput', 'GroupPayload { group { id } }');

export function groups(data, page) {
  const { nodes } = data.groups;
  const may = page.can('WRITE_AGENTS');
  const { dialog, draft } = page.state;
  return [
    card({ title: 'Groups', subtitle: 'A task or a handoff given to a group goes to its coordinator, or to the member whose skills match best', actions: may && button('New group', () => page.set({ dialog: 'group', draft: null, trouble: null }), { kind: 'primary' }) },
      nodes.length ? [h('ul', { class: 'rows' }, nodes.map((group) => row(group, page, may))), more(page, 'groups', 'groups')]
        : empty({ icon: 'team', title: 'No groups yet', text: may ? 'Name the agents of one, or the skills that it needs.' : 'Whoever may change agents forms them.' })),
    dialog === 'group' && groupDialog(draft, data, page),
    dialog === 'dissolve' && dissolveDialog(draft, page),
  ];
}

function row(group, page, may) {
  const open = (dialog) => () => page.set({ dialog, draft: group, trouble: null });
  return h('li', { key: group.id, class: 'row rule' },
    h('div', null,
      h('strong', null, group.name), ' ', h('code', { class: 'quiet' }, group.slug),
      group.purpose && h('p', { class: 'quiet' }, group.purpose),
      h('span', { class: 'row-meta' }, group.agents.nodes.map((agent) => agentLink(agent)), group.agents.totalCount > group.agents.nodes.length && h('span', null, `and ${plural(group.agents.totalCount - group.agents.nodes.length, 'other')}`)),
      h('span', { class: 'row-meta' }, group.coordinator && h('span', null, `coordinated by ${group.coordinator.name}`), group.parent && h('span', null, `in ${group.parent.name}`), group.requiredSkills.map((skill) => badge(skill, 'accent')))),
    may && h('div', { class: 'row-acts' }, button('Change', open('group'), { kind: 'quiet', 'aria-label': `Change ${group.name}` }), button('Dissolve', open('dissolve'), { kind: 'quiet', 'aria-label': `Dissolve ${group.name}` })));
}

function groupDialog(group, data, page) {
  const agents = data.agents.nodes.filter((agent) => agent.status !== 'ARCHIVED');
  const members = new Set(group?.requiredSkills.length ? [] : group?.agents.nodes.map((agent) => agent.id));
  const parents = data.groups.nodes.filter((one) => one.id !== group?.id).map((one) => [one.id, one.name]);
  const input = (values) => ({
    slug: group?.slug ?? values.slug, name: values.name, purpose: values.purpose, coordinatorId: values.coordinatorId || null, parentId: values.parentId || null,
    agentIds: agents.filter((agent) => values[`member-${agent.id}`]).map((agent) => agent.id),
    requiredSkills: values.requiredSkills.split(',').map((skill) => skill.trim()).filter(Boolean),
  });
  return formDialog(page, { title: group ? `Change ${group.name}` : 'New group', change: SAVE, input, submit: 'Save', done: 'The group is saved', wide: true }, (trouble) => [
    h('div', { class: 'form-pair' },
      field({ label: 'Name', name: 'name', required: true, maxlength: 120, value: group?.name ?? '', error: trouble?.problem('name') }),
      !group && field({ label: 'Short name', name: 'slug', required: true, maxlength: 63, pattern: '[a-z0-9]([a-z0-9\\-]*[a-z0-9])?', hint: 'Lower-case letters, digits, inner hyphens.', error: trouble?.problem('slug') })),
    field({ label: 'Purpose', name: 'purpose', rows: 2, maxlength: 2000, value: group?.purpose ?? '', error: trouble?.problem('purpose') }),
    h('fieldset', { class: 'members' }, h('legend', null, 'Agents'), agents.map((agent) => checkbox({ label: agent.name, name: `member-${agent.id}`, checked: members.has(agent.id) })), trouble?.problem('agentIds') && h('p', { class: 'field-error' }, trouble.problem('agentIds'))),
    field({ label: 'Or the skills it needs', name: 'requiredSkills', value: group?.requiredSkills.join(', ') ?? '', hint: 'With commas between them. The fewest active agents are taken that have them all; saving again chooses anew.', error: trouble?.problem('requiredSkills') }),
    h('div', { class: 'form-pair' },
      field({ label: 'Coordinator', name: 'coordinatorId', value: group?.coordinator?.id ?? '', options: [['', 'Whoever’s skills match best'], ...agents.map((agent) => [agent.id, agent.name])], error: trouble?.problem('coordinatorId') }),
      field({ label: 'Lies in', name: 'parentId', value: group?.parent?.id ?? '', options: [['', 'No other group'], ...parents], error: trouble?.problem('parentId') })),
  ]);
}

function dissolveDialog(group, page) {
  return formDialog(page, { title: `Dissolve ${group.name}?`, change: DISSOLVE, input: () => ({ groupId: group.id }), submit: 'Dissolve', kind: 'danger', done: 'The group is dissolved' }, () => h('p', null, 'Tasks that were given to it go on. Its short name becomes free.'));
}
