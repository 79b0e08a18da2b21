// "Who could answer this?": by what a question means, or by the skills that are needed.

import { h } from '../../dom.js';
import { percent, plural } from '../../format.js';
import { agentLink, badge, button, card, field, skeleton, tabs, troubled } from '../../parts.js';
import { questionOf } from '../../question.js';

const BY_QUESTION = `query Recommend($query: String!) {
  recommendAgents(query: $query, first: 5) { confidence matchingSkills tagline agent { id name } }
}`;
const BY_SKILLS = `query Experts($skills: [String!]!) {
  findExperts(requiredSkills: $skills, first: 8) {
    coverage available activeTasks missingSkills matchedSkills { required heldAs } agent { id name tagline }
  }
}`;
const VIEWS = [['question', 'By question'], ['skills', 'By skills']];

export function who(page) {
  const bySkills = page.query.who === 'skills';
  const question = questionOf(page, bySkills ? 'experts' : 'recommended');
  const ask = (event) => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get('who').trim();
    const skills = text.split(',').map((skill) => skill.trim()).filter(Boolean);
    if (text && bySkills) question.ask(BY_SKILLS, { skills });
    else if (text) question.ask(BY_QUESTION, { query: text });
  };
  return card({ title: 'Who could answer this?', class: 'who-could' },
    tabs(page, VIEWS, { name: 'who', label: 'How to look for agents' }),
    h('form', { class: 'who-form', key: String(bySkills), onsubmit: ask },
      bySkills ? field({ label: 'Skills', name: 'who', key: 'skills', placeholder: 'Code review, SQL', hint: 'With commas between them; case does not matter.' })
        : field({ label: 'Question', name: 'who', key: 'question', rows: 2, maxlength: 10_000, placeholder: 'Why did signups fall last week?', hint: 'Nothing is decided or logged.' }),
      button('Find', null, { type: 'submit', kind: 'primary', busy: question.busy })),
    h('div', { class: 'who-found', 'aria-live': 'polite' }, found(question, bySkills)));
}

function found({ data, trouble, busy }, bySkills) {
  if (trouble) return troubled(trouble);
  if (!data) return busy ? skeleton(1) : null;
  const rows = bySkills ? data.findExperts : data.recommendAgents;
  if (!rows?.length) return h('p', { class: 'quiet' }, bySkills ? 'Nobody has any of these skills.' : 'Nobody: it is about nothing that the team can do.');
  return h('ol', { class: 'rows' }, rows.map((row) => h('li', { key: row.agent.id, class: 'row' }, bySkills ? expert(row) : recommended(row))));
}

const recommended = (row) => [
  h('span', { class: 'who-line' }, agentLink(row.agent), h('strong', null, percent(row.confidence))),
  h('span', { class: 'row-meta' }, row.matchingSkills.length ? row.matchingSkills.map((skill) => badge(skill, 'accent')) : row.tagline),
];

const expert = (row) => [
  h('span', { class: 'who-line' }, agentLink(row.agent), h('strong', null, percent(row.coverage))),
  h('span', { class: 'row-meta' },
    row.matchedSkills.map((skill) => h('span', { key: skill.required, title: skill.heldAs ? `Calls it “${skill.heldAs}”` : 'Shown by answers that were rated well' }, badge(skill.required, 'good'))),
    row.missingSkills.map((skill) => badge(`no ${skill}`))),
  h('span', { class: 'quiet' }, row.available ? `Free: ${plural(row.activeTasks, 'open task')}` : `Takes no new task: ${plural(row.activeTasks, 'open task')}`),
];
