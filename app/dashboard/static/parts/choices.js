// Agents and groups to choose from, the same in every form.

const STATUSES = { PAUSED: ' (paused)', ARCHIVED: ' (archived)' };

/** What the choices need, at the root of a page's query. */
export const CHOICES = `agents(first: 100, where: { status: { in: [ACTIVE, PAUSED] } }, orderBy: [{ field: NAME, direction: ASC }]) { nodes { id name status } }
  groups(first: 100, where: { dissolvedAt: { isNull: true } }) { nodes { id name } }`;

/** Pairs for a select; those who take no work are left out unless `paused`. */
export function agentChoices({ agents }, { paused = false, without = [] } = {}) {
  return agents.nodes.filter((agent) => (paused || agent.status === 'ACTIVE') && !without.includes(agent.id))
    .map((agent) => [agent.id, `${agent.name}${STATUSES[agent.status] ?? ''}`]);
}

/** Agents and groups in one select: `agent:…` or `group:…`, read back by chosen(). */
export function everybodyChoices(data, options) {
  const agents = agentChoices(data, options).map(([id, name]) => [`agent:${id}`, name]);
  return [...agents, ...data.groups.nodes.map((group) => [`group:${group.id}`, `${group.name} (group)`])];
}

/** chosen('group:group_1', 'toAgentId', 'toGroupId') -> { toGroupId: 'group_1' }. */
export function chosen(value, agentName, groupName) {
  const at = value.indexOf(':');
  return value.startsWith('group:') ? { [groupName]: value.slice(at + 1) } : { [agentName]: value.slice(at + 1) };
}
