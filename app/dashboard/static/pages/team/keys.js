// API keys: made here, shown once, revoked at once.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { words } from '../../format.js';
import { agentLink, button, card, copyButton, dialog as frame, field, formDialog, more, status, table, time } from '../../parts.js';

const CREATE = mutation('createApiKey', 'CreateApiKeyInput', 'CreateApiKeyPayload { secret apiKey { id name role } }');
const REVOKE = mutation('revokeApiKey', 'RevokeApiKeyInput', 'ApiKeyPayload { apiKey { id live } }');
const ROLES = [['ANALYST', 'Analyst: reads only'], ['OPERATOR', 'Operator: reads and intervenes'], ['INTEGRATOR', 'Integrator: programs that change agents and their work'], ['AGENT', 'Agent: acts as one agent'], ['ADMIN', 'Admin: everything']];

export function keys(data, page) {
  const { nodes } = data.team.apiKeys;
  const { dialog, draft, secret } = page.state;
  return [
    card({ title: 'API keys', subtitle: 'Only a hash of each is kept', actions: button('New key', () => page.set({ dialog: 'key', draft: { role: 'ANALYST' }, trouble: null }), { kind: 'primary' }) },
      table({ label: 'API keys', columns: columns(page), rows: nodes }), more(page, 'team.apiKeys', 'keys')),
    dialog === 'key' && createDialog(data, page),
    dialog === 'revoke' && revokeDialog(draft, page),
    secret && secretDialog(secret, page),
  ];
}

const columns = (page) => [
  { name: 'Name', wide: true, value: (key) => h('strong', null, key.name) },
  { name: 'Begins with', value: (key) => h('code', null, key.prefix, '…') },
  { name: 'Role', value: (key) => h('span', { class: 'two-lines' }, words(key.role), key.agent && agentLink(key.agent)) },
  { name: 'Created', value: (key) => time(key.createdAt) },
  { name: 'Expires', value: (key) => (key.expiresAt ? time(key.expiresAt) : 'never') },
  { name: 'State', value: (key) => (key.live ? status('ACTIVE', { text: 'Works' }) : status(key.revokedAt ? 'REVOKED' : 'EXPIRED')) },
  { name: '', align: 'end', value: (key) => key.live && button('Revoke', () => page.set({ dialog: 'revoke', draft: key, trouble: null }), { kind: 'quiet', 'aria-label': `Revoke ${key.name}` }) },
];

function createDialog(data, page) {
  const { draft } = page.state;
  const input = ({ name, role, agentId, expiresAt }) => ({ name, role, agentId: role === 'AGENT' ? agentId : null, expiresAt: expiresAt ? new Date(expiresAt).toISOString() : null });
  return formDialog(page, { title: 'New API key', change: CREATE, input, submit: 'Create', then: (payload) => payload && page.set({ secret: { text: payload.secret, name: payload.apiKey.name } }) }, (trouble) => [
    field({ label: 'What it is for', name: 'name', required: true, maxlength: 120, error: trouble?.problem('name') }),
    field({ label: 'Role', name: 'role', value: draft.role, options: ROLES, error: trouble?.problem('role'), onchange: (event) => page.set({ draft: { role: event.target.value } }) }),
    draft.role === 'AGENT' && field({ label: 'Agent', name: 'agentId', options: data.agents.nodes.map((agent) => [agent.id, agent.name]), error: trouble?.problem('agentId') }),
    field({ label: 'Expires', name: 'expiresAt', type: 'datetime-local', hint: 'Left empty: never.', error: trouble?.problem('expiresAt') }),
  ]);
}

/** It leaves the page's memory with the dialog. */
function secretDialog(secret, page) {
  return frame({ title: 'Copy it now', key: 'secret', onclose: () => page.set({ secret: null }) },
    h('div', { class: 'form' },
      h('p', null, `This is the key “${secret.name}”. It is shown here and never again.`),
      h('pre', { class: 'code secret', tabindex: '0', 'aria-label': 'The secret' }, secret.text),
      h('div', { class: 'form-actions' }, copyButton(secret.text, { label: 'Copy the key' }), button('I have it', () => page.set({ secret: null }), { kind: 'primary' }))));
}

function revokeDialog(key, page) {
  return formDialog(page, { title: `Revoke ${key.name}?`, change: REVOKE, input: () => ({ apiKeyId: key.id }), submit: 'Revoke', kind: 'danger', done: 'The key no longer works' }, () => [
    h('p', null, 'Whoever uses it is refused at once, open connections included. This cannot be undone.'),
    key.name === page.viewer.name && h('p', { class: 'notice tone-bad' }, 'This may be the key that you are signed in with.'),
  ]);
}
