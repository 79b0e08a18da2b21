// The swimlanes: agents at the left, their work over time beside them, and the buttons that move through it.

import { h } from '../../dom.js';
import { plural } from '../../format.js';
import { agentLink, button, card, empty, iconButton } from '../../parts.js';
import { Chart, laneHeight } from './chart.js';
import { fit, toggleFollow, zoomBy } from './steering.js';

const KEYS = 'Arrow keys choose a span, Enter opens it, plus and minus zoom, 0 shows all, Shift with arrows moves, F follows.';
const LEGEND = [['good', 'done'], ['busy', 'at work'], ['wait', 'waiting'], ['bad', 'failed'], ['calm', 'cancelled']];

export function lanes({ session, spans, nameOf, isRunning }, page) {
  const laid = spans.laidOut();
  const { chart } = page.state;
  chart?.show({ spans, names: nameOf, isRunning });
  const subtitle = `${plural(laid.lanes.length, 'agent')}, ${plural(laid.all.length, 'span')}${laid.open ? `, ${laid.open} open` : ''}`;
  return card({ title: 'Timeline', subtitle, class: 'timeline', actions: laid.all.length > 0 && tools(chart, isRunning) },
    laid.all.length ? frame(laid, { session, spans, nameOf, isRunning }, page) : empty({ icon: 'session', title: 'No work yet', text: 'The first stage appears here as soon as it is ordered.' }));
}

function tools(chart, isRunning) {
  const follows = chart?.window.follows ?? true;
  return [
    iconButton('Zoom in', 'plus', () => zoomBy(chart, 1 / 1.4)),
    iconButton('Zoom out', 'minus', () => zoomBy(chart, 1.4)),
    button('All', () => fit(chart), { kind: 'quiet', title: 'Show the whole session (0)' }),
    isRunning && h('button', { type: 'button', class: 'button button-quiet follow', 'aria-pressed': String(follows), onclick: () => toggleFollow(chart) }, 'Follow now'),
  ];
}

function frame(laid, shown, page) {
  const agents = new Map(shown.session.participants.map(({ agent, role }) => [agent.id, role]));
  return h('div', null,
    h('div', { class: 'lanes' },
      h('div', { class: 'lanes-corner' }),
      h('canvas', { class: 'lanes-axis', 'aria-hidden': 'true' }),
      h('ol', { class: 'lanes-names', 'aria-label': 'Agents' }, laid.lanes.map(({ agentId, rows, spans }) =>
        h('li', { key: agentId, style: { height: `${laneHeight(rows)}px` } },
          agentLink({ id: agentId, name: shown.nameOf(agentId) }),
          h('span', { class: 'quiet' }, [agents.get(agentId)?.toLowerCase() ?? 'helper', spans.length > 1 && ` · ${spans.length}`])))),
      h('div', { class: 'lanes-plot' },
        h('canvas', { tabindex: '0', role: 'application', 'aria-label': `Timeline of the session, ${plural(laid.all.length, 'span')}`, 'aria-describedby': 'lanes-keys', mount: (canvas) => mount(canvas, shown, page) }),
        h('p', { class: 'lanes-tip', hidden: true, 'aria-hidden': 'true' }),
        h('p', { class: 'unseen lanes-said', role: 'status' }))),
    h('div', { class: 'lanes-foot' },
      h('ul', { class: 'legend' }, LEGEND.map(([tone, text]) => h('li', { key: tone, class: `tone-${tone}` }, h('span', { class: 'swatch', 'aria-hidden': 'true' }), text))),
      h('p', { id: 'lanes-keys', class: 'lanes-keys quiet' }, KEYS)));
}

function mount(canvas, shown, page) {
  const plot = canvas.parentElement;
  const said = plot.querySelector('.lanes-said');
  const chart = new Chart(canvas, {
    axis: plot.parentElement.querySelector('.lanes-axis'),
    tip: plot.querySelector('.lanes-tip'),
    open: (span) => page.setQuery({ span }),
    say: (text) => { said.textContent = text; },
    changed: page.redraw,
  });
  page.state.chart = chart;
  chart.show({ spans: shown.spans, names: shown.nameOf, isRunning: shown.isRunning });
  return () => {
    chart.end();
    page.state.chart = null;
  };
}
