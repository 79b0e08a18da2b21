// The fields of an agent, for creating and for changing one. Skills have an order, so they are kept apart from the form
// until it is sent.

import { h } from '../../dom.js';
import { words } from '../../format.js';
import { button, field, iconButton, slider } from '../../parts.js';

const TYPES = ['GENERAL', 'ARCHITECT', 'DEVELOPER', 'REVIEWER', 'TESTER', 'DOCUMENTER', 'SECURITY', 'OPTIMIZER', 'CUSTOM'];
const RUNTIMES = [['MANAGED', 'Managed: Parley’s workers run it'], ['EXTERNAL', 'External: a program of yours runs it']];
const TIERS = [['0', '0, small'], ['1', '1, medium'], ['2', '2, large']];
const MOST_SKILLS = 50;
const TRAITS = [['formality', 'Formality', 'casual', 'formal'], ['humor', 'Humor', 'dry', 'playful'], ['technicalDepth', 'Technical depth', 'plain words', 'deep detail']];

const NEW = { name: '', tagline: '', role: '', personality: '', type: 'GENERAL', customType: '', runtime: 'MANAGED', modelTier: 1, tools: [], skills: [], traits: { formality: 0.5, humor: 0.5, technicalDepth: 0.5 } };

/** What is being written: put it into the page's state when the form opens. */
export function draftOf(agent = NEW) {
  return { ...agent, traits: { ...agent.traits }, skills: agent.skills.map((skill, index) => ({ ...skill, key: index })), next: agent.skills.length };
}

/** The input of createAgent or updateAgent from the form's values and the draft. */
export function agentInput(values, draft) {
  const { name, tagline, role, personality, type, runtime } = values;
  return {
    name, tagline, role, personality, type, runtime,
    customType: type === 'CUSTOM' ? values.customType : null,
    modelTier: Number(values.modelTier),
    traits: Object.fromEntries(TRAITS.map(([trait]) => [trait, Number(values[trait])])),
    skills: draft.skills.filter((skill) => skill.name.trim() || skill.description.trim()).map((skill) => ({ name: skill.name.trim(), description: skill.description.trim() })),
    tools: values.tools.split(/[\s,]+/).filter(Boolean),
  };
}

export function agentFields(page, draft, trouble) {
  const error = (path) => trouble?.problem(path);
  const turn = (changes) => { Object.assign(draft, changes); page.redraw(); };
  return h('div', { class: 'agent-form' },
    h('div', { class: 'form-pair' },
      field({ label: 'Name', name: 'name', required: true, maxlength: 120, value: draft.name, error: error('name') }),
      field({ label: 'Tagline', name: 'tagline', maxlength: 200, value: draft.tagline, error: error('tagline'), hint: 'One line on what it is for.' })),
    field({ label: 'Part in the team', name: 'role', maxlength: 500, value: draft.role, error: error('role') }),
    field({ label: 'Personality', name: 'personality', rows: 3, maxlength: 8000, value: draft.personality, error: error('personality'), hint: 'How it speaks and behaves.' }),
    h('fieldset', { class: 'traits' }, h('legend', null, 'Traits'), TRAITS.map(([name, label, low, high]) =>
      slider({ label, name, value: draft.traits[name], ends: [low, high], shown: Number(draft.traits[name]).toFixed(2), oninput: (event) => turn({ traits: { ...draft.traits, [name]: event.target.value } }) }))),
    h('div', { class: 'form-pair' },
      field({ label: 'Type', name: 'type', value: draft.type, options: TYPES.map((one) => [one, words(one)]), error: error('type'), onchange: (event) => turn({ type: event.target.value }) }),
      draft.type === 'CUSTOM' && field({ label: 'Own type', name: 'customType', required: true, value: draft.customType ?? '', error: error('customType') }),
      field({ label: 'Model tier', name: 'modelTier', value: String(draft.modelTier), options: TIERS, error: error('modelTier') })),
    field({ label: 'Runtime', name: 'runtime', value: draft.runtime, options: RUNTIMES, error: error('runtime') }),
    skills(page, draft, trouble),
    field({ label: 'Tools', name: 'tools', rows: 2, value: draft.tools.join(', '), error: error('tools'), hint: 'Names, with spaces or commas between them.' }));
}

function skills(page, draft, trouble) {
  const change = (list) => { draft.skills = list; page.redraw(); };
  const add = () => { change([...draft.skills, { key: draft.next, name: '', description: '' }]); draft.next += 1; };
  const raise = (index) => change(draft.skills.map((skill, place) => (place === index - 1 ? draft.skills[index] : place === index ? draft.skills[index - 1] : skill)));
  return h('fieldset', { class: 'skills' }, h('legend', null, 'Skills, best first'),
    h('ul', null, draft.skills.map((skill, index) => h('li', { key: skill.key, class: 'skill-row' },
      h('input', { 'aria-label': `Skill ${index + 1}`, placeholder: 'A few words', maxlength: 120, value: skill.name, oninput: (event) => { skill.name = event.target.value; } }),
      h('input', { 'aria-label': `What skill ${index + 1} covers`, placeholder: 'What it covers; messages are matched against it', maxlength: 1000, value: skill.description, oninput: (event) => { skill.description = event.target.value; } }),
      iconButton(`Skill ${index + 1} up`, 'up', () => raise(index), { disabled: index === 0 }),
      iconButton(`Remove skill ${index + 1}`, 'close', () => change(draft.skills.filter((one) => one !== skill)))))),
    trouble?.problem('skills') && h('p', { class: 'field-error' }, trouble.problem('skills')),
    draft.skills.length < MOST_SKILLS && h('div', null, button('Add a skill', add, { kind: 'quiet' })));
}
