// One report: its sections as they were written, what the template misses, and the files to take along.

import { h } from '../dom.js';
import { cut, duration, money, words } from '../format.js';
import { agentLink, badge, button, card, copyId, empty, facts, fileName, foldedRich, linkButton, saveServerFile, status, time } from '../parts.js';
import { to } from '../router.js';
import { REPORT_TONES } from './report/states.js';

const TASK = '{ id title status cost progress error }';
const ENDINGS = [['md', 'Markdown'], ['html', 'HTML'], ['json', 'JSON']];

const QUERY = `query Report($id: ID!) {
  report(id: $id) {
    id title type status format createdAt endedAt parameters requiredSections missingSections problems onBehalfOf
    sections { position name title kind content }
    assignee { id name } requester { id name } task ${TASK} repairTask ${TASK}
    routingDecision { id explanation } memory { id text }
  }
}`;

const STREAM = `subscription Report($after: Cursor) {
  teamEvents(after: $after, kinds: [REPORT_REPAIR_REQUESTED, REPORT_COMPLETED, REPORT_INVALID, REPORT_FAILED, TASK_CLAIMED, TASK_FAILED, TASK_REQUEUED]) {
    __typename ... on Event { id kind cursor changes task { id } } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}`;

export default {
  name: 'report',
  path: '/reports/:id',
  title: (data) => data?.report?.title ?? 'Report',
  under: '/reports',
  needs: 'READ_TEAM',

  data: (page) => ({
    query: QUERY,
    variables: { id: page.params.id },
    stream: page.can('READ_EVENTS') ? STREAM : null,
    reloads: (event) => concerns(page.data?.report, event),
    fold: (data) => data,
  }),

  view({ report }, page) {
    if (!report) return empty({ icon: 'report', title: 'There is no such report', text: 'It may belong to another team.', action: linkButton('To the reports', to('/reports')) });
    return h('div', { class: 'split', key: 'report' },
      h('div', { class: 'split-main' }, head(report, page), troubles(report), body(report)),
      h('div', { class: 'split-side' }, contents(report), about(report)));
  },
};

const concerns = (report, event) => !report || event.changes.reportId === report.id || [report.task.id, report.repairTask?.id].includes(event.task?.id);

function head(report, page) {
  const save = ([ending, name]) => {
    const path = `reports/${report.id}.${ending}`;
    return button(name, () => saveServerFile(page, path, fileName(report.title, ending)), { key: ending, busy: page.isBusy(`download ${path}`), 'aria-label': `Download as ${name}` });
  };
  return card({ class: 'subject' },
    h('div', { class: 'subject-line' }, status(report.status, { tone: REPORT_TONES[report.status] }), h('span', null, words(report.type)), copyId(report.id),
      report.sections.length > 0 && h('div', { class: 'subject-actions' }, h('span', { class: 'quiet small', 'aria-hidden': 'true' }, 'Download'), ENDINGS.map(save))),
    facts([
      ['Written by', agentLink(report.assignee)],
      ['Asked for by', report.requester ? agentLink(report.requester) : report.onBehalfOf],
      ['Created', time(report.createdAt)],
      ['Took', report.endedAt && duration((new Date(report.endedAt) - new Date(report.createdAt)) / 1000)],
      ['Cost', money(Number(report.task.cost) + Number(report.repairTask?.cost ?? 0))],
      ['Format', words(report.format)],
    ]));
}

function troubles(report) {
  if (!report.problems.length) return null;
  return card({ title: report.status === 'REPAIRING' ? 'Being mended' : 'What is wrong with it', class: 'tone-bad outlined' }, h('ul', { class: 'bullets' }, report.problems.map((problem, index) => h('li', { key: index }, problem))));
}

function body(report) {
  if (report.sections.length) return card({ class: 'paper' }, report.sections.map(section));
  const working = report.status === 'WORKING';
  return card({}, empty({ icon: 'report', title: working ? `${report.assignee.name} is writing` : 'Nothing was written', text: working ? report.task.progress || 'It appears here by itself.' : report.task.error, action: linkButton('To its task', to('/tasks/:id', report.task)) }));
}

function section(one) {
  return h('section', { key: one.position, id: `section-${one.position}`, tabindex: '-1' },
    h('h2', null, one.title, one.kind === 'ADDITIONAL' && badge('Not in the template')),
    foldedRich(one.content));
}

function contents(report) {
  const jump = (position) => (event) => {
    event.preventDefault();
    const target = document.getElementById(`section-${position}`);
    target?.scrollIntoView({ behavior: 'smooth', block: 'start' });
    target?.focus({ preventScroll: true });
  };
  const there = new Map(report.sections.map((one) => [one.name, one]));
  const missing = new Set(report.missingSections);
  const names = [...new Set([...report.requiredSections, ...there.keys()])];
  return card({ title: 'Sections' }, h('ol', { class: 'contents' }, names.map((name) => h('li', { key: name },
    there.has(name) ? h('a', { href: `#section-${there.get(name).position}`, onclick: jump(there.get(name).position) }, there.get(name).title) : h('span', null, words(name)),
    missing.has(name) && report.status !== 'WORKING' ? badge('Missing', 'bad') : !there.has(name) && h('span', { class: 'quiet small' }, 'to come')))));
}

const shown = (value) => [value].flat().map((one) => (typeof one === 'object' ? JSON.stringify(one) : one)).join(', ');

function about(report) {
  const given = Object.keys(report.parameters).length > 0;
  return card({ title: 'How it came about' }, h('ul', { class: 'rows' },
    [['First version', report.task], ['Repair', report.repairTask]].filter(([, task]) => task).map(([name, task]) => h('li', { key: name, class: 'row' }, h('a', { href: to('/tasks/:id', task) }, name), h('span', { class: 'row-meta' }, status(task.status), money(task.cost)))),
    report.routingDecision && h('li', { key: 'why', class: 'row' }, h('a', { href: to('/routing/:id', report.routingDecision) }, `Why ${report.assignee.name} writes it`), h('span', { class: 'small quiet' }, cut(report.routingDecision.explanation.split('\n')[0], 160)))),
  given && h('div', { class: 'part' }, h('h3', null, 'Parameters'), facts(Object.entries(report.parameters).map(([name, value]) => [words(name), shown(value)]))),
  report.memory && h('p', { class: 'part small quiet' }, 'The team remembers it.'));
}
