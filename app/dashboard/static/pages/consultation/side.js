// Beside a consultation: why this specialist, what each phase took, and the evidence of loops.

import { h } from '../../dom.js';
import { count, cut, money, words } from '../../format.js';
import { agentLink, badge, bar, card, code, facts, status, time } from '../../parts.js';
import { to } from '../../router.js';

export function about(one) {
  return card({ title: one.specialist ? `Why ${one.specialist.name}` : 'Why nobody was asked' },
    h('p', { class: 'prose small' }, one.chosenBecause),
    facts([
      ['Suggested', one.suggestedAgent && h('span', null, agentLink(one.suggestedAgent), ' ', badge(one.suggestionFollowed ? 'followed' : 'not followed', one.suggestionFollowed ? 'good' : 'calm'))],
      ['Scores', one.routingDecision && h('a', { href: to('/routing/:id', one.routingDecision) }, 'All agents’ scores')],
      ['Asked for', one.askingTask && h('a', { href: to('/tasks/:id', one.askingTask) }, cut(one.askingTask.title, 60))],
      ['Its work', one.task && h('span', null, h('a', { href: to('/tasks/:id', one.task) }, 'The specialist’s task'), ' ', status(one.task.status))],
      ['In the name of', one.onBehalfOf],
      ['Depth', `${one.depth} of 3`],
    ]),
    one.memory && h('p', { class: 'part small quiet' }, 'The team remembers it.'));
}

export function costs({ uses, tokensUsed, cost }) {
  const phases = new Map();
  for (const use of uses.nodes) {
    const sum = phases.get(use.phase) ?? { tokens: 0, cost: 0 };
    phases.set(use.phase, { tokens: sum.tokens + use.tokensUsed, cost: sum.cost + Number(use.cost) });
  }
  if (!phases.size) return null;
  const most = Math.max(...[...phases.values()].map((one) => one.tokens), 1);
  return card({ title: 'What it took', subtitle: `${count(tokensUsed)} tokens, ${money(cost)}` }, h('div', { class: 'phases' },
    [...phases].map(([phase, one]) => bar(one.tokens / most, { label: words(phase), value: `${count(one.tokens)} · ${money(one.cost)}` }))));
}

export function loops({ loops: { nodes } }) {
  if (!nodes.length) return null;
  return card({ title: 'Loops', class: 'tone-bad outlined' }, h('ul', { class: 'rows' }, nodes.map((loop) => h('li', { key: loop.id, class: 'row' },
    h('p', { class: 'row-meta' }, badge(words(loop.kind), 'bad'), badge(words(loop.resolution)), time(loop.detectedAt)),
    h('p', { class: 'small' }, loop.description), loop.note && h('p', { class: 'small quiet' }, loop.note),
    h('details', { class: 'step' }, h('summary', null, 'Evidence'), code(loop.evidence))))));
}
