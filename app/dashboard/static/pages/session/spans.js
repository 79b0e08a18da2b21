// The work of a session as spans in lanes: read once, then changed by each event. Pure but for the object it keeps.

const MOST_ROWS = 5;
const MOST_BETWEEN = 12;
const RUNNING = new Set(['PENDING', 'IN_PROGRESS']);
const BAD = new Set(['FAILED', 'TIMED_OUT']);
const SHOWN = ['agentId', 'name', 'stageId', 'status', 'cost', 'tokensUsed', 'begin', 'started', 'end'];
const moment = (text) => (text ? Date.parse(text) : null);

export const isOpen = (span) => RUNNING.has(span.status);

/** 'busy' while it is worked on, 'wait' before, 'good', 'bad' or 'calm' behind. */
export function spanTone({ status }) {
  if (status === 'IN_PROGRESS') return 'busy';
  if (status === 'PENDING') return 'wait';
  if (status === 'COMPLETED') return 'good';
  return BAD.has(status) ? 'bad' : 'calm';
}

/** All spans by their task, and the lanes in their order. */
export class Spans {
  byTask = new Map();
  agents = [];
  version = 0;
  skew = Infinity;
  #laid = null;

  constructor(timeline) {
    for (const lane of timeline.lanes) {
      this.#seat(lane.agentId);
      for (const span of lane.spans) this.byTask.set(span.taskId, { ...span, agentId: lane.agentId, ...times(span) });
    }
    for (const { kind, fromAgentId, taskId } of timeline.arrows) {
      if (kind !== 'ANSWERED') Object.assign(this.byTask.get(taskId) ?? {}, { askerId: fromAgentId, delegated: kind === 'DELEGATED' });
    }
  }

  /** The server's present moment: this clock, corrected by how late the promptest event came. */
  now() {
    return Date.now() - (Number.isFinite(this.skew) ? this.skew : 0);
  }

  /** Take an event up: its task as it was when the event was read. Answers whether anything that is shown changed. */
  hear({ kind, at, task, changes }, leadId) {
    this.skew = Math.min(this.skew, Date.now() - Date.parse(at));
    if (!task?.assigneeId) return false;
    const known = this.byTask.get(task.id);
    const old = known ?? { taskId: task.id, stageId: null, name: task.title, askerId: task.creatorId ?? leadId, delegated: Boolean(task.creatorId) };
    const { status, startedAt, endedAt, cost, tokensUsed, createdAt } = task;
    const now = { ...old, agentId: task.assigneeId, status, cost, tokensUsed, ...times({ createdAt, startedAt, endedAt }) };
    if (kind === 'COLLABORATION_STAGE_STARTED') Object.assign(now, { stageId: changes.stageId, name: changes.name });
    if (known && SHOWN.every((field) => known[field] === now[field])) return false;
    this.byTask.set(task.id, now);
    this.#seat(task.assigneeId);
    this.version += 1;
    return true;
  }

  /** { lanes: [{ agentId, rows, spans }], all, from, to, open }; spans get a `row`. Kept until something changes. */
  laidOut() {
    if (this.#laid?.version === this.version) return this.#laid;
    const all = [...this.byTask.values()].sort((a, b) => a.begin - b.begin);
    const byAgent = new Map(this.agents.map((agentId) => [agentId, []]));
    for (const span of all) byAgent.get(span.agentId).push(span);
    const lanes = [...byAgent].map(([agentId, spans]) => packed(agentId, spans));
    const ends = all.map((span) => span.end ?? span.begin);
    this.#laid = {
      version: this.version, lanes, all, handoffs: handoffs(all), open: all.filter(isOpen).length,
      from: all.length ? Math.min(...all.map((span) => span.ordered)) : null, to: all.length ? Math.max(...ends) : null,
    };
    return this.#laid;
  }

  #seat(agentId) {
    if (!this.agents.includes(agentId)) this.agents.push(agentId);
  }
}

function times({ createdAt, startedAt, endedAt }) {
  const ordered = moment(createdAt);
  return { ordered, started: moment(startedAt), begin: moment(startedAt) ?? ordered, end: moment(endedAt) };
}

/**
 * Where no lead asks, a stage goes on from those before it: pairs [from, to] of a wave of stages, ordered at one moment,
 * and the next. Where everybody is told of everybody, nothing is drawn: it says less than it hides.
 */
function handoffs(all) {
  const waves = new Map();
  for (const span of all) {
    if (!span.stageId || span.askerId) continue;
    if (waves.has(span.ordered)) waves.get(span.ordered).push(span);
    else waves.set(span.ordered, [span]);
  }
  const inOrder = [...waves].sort(([a], [b]) => a - b).map(([, spans]) => spans);
  return inOrder.slice(1).flatMap((spans, index) => {
    const before = inOrder[index];
    if (before.length * spans.length > MOST_BETWEEN || (before.length > 1 && spans.length > 1)) return [];
    return spans.flatMap((to) => before.filter((from) => from.end !== null && from.agentId !== to.agentId).map((from) => [from, to]));
  });
}

/** Spans that overlap lie in rows below each other; of more than five at a time some share the one that is free first. */
function packed(agentId, spans) {
  const ends = [];
  for (const span of spans) {
    let row = ends.findIndex((end) => end <= span.begin);
    if (row < 0) row = ends.length < MOST_ROWS ? ends.length : ends.indexOf(Math.min(...ends));
    span.row = row;
    ends[row] = span.end ?? Infinity;
  }
  return { agentId, spans, rows: Math.max(1, ends.length) };
}
