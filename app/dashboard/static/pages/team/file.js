// The team as a file: read it, change it, see what would change, apply it. What is wrong is shown by line and field.

import { mutation } from '../../api.js';
import { h } from '../../dom.js';
import { plural } from '../../format.js';
import { button, card, checkbox, copyButton, dialog as frame, download, field, toast } from '../../parts.js';
import { Trouble } from '../../trouble.js';

const READ = '{ teamFile { text } }';
const APPLY = mutation('applyTeam', 'ApplyTeamInput', 'ApplyTeamPayload { changed created updated archived unchanged changedTeamFields handoffRulesChanged }', 'InvalidInput { problems { line } }');

export function file({ team }, page) {
  const { text = '', found, trouble, prune } = page.state.file ?? {};
  const may = page.can('CONFIGURE_TEAM');
  const set = (changes) => page.set({ file: { ...page.state.file, ...changes } });
  return [
    card({ title: 'Team file', subtitle: 'One YAML file for agents, variables, rules, groups, features and budgets; what it leaves out stays', actions: [button('Read the team', () => read(page, set), { busy: page.isBusy('read file') }), text && button('Save', () => download(`${team.slug}.yaml`, new Blob([text], { type: 'application/yaml' }))), text && copyButton(text)] },
      h('div', { class: 'form' },
        field({ label: may ? 'File' : 'File, to read', name: 'file', rows: 22, class: 'mono file-text', spellcheck: 'false', value: text, placeholder: 'version: 1\nname: …', oninput: (event) => { page.state.file = { ...page.state.file, text: event.target.value, found: null, trouble: null }; page.redraw(); } }),
        trouble && problems(trouble),
        found && changes(found),
        may && h('div', { class: 'file-actions' },
          checkbox({ label: 'Archive agents that it does not name', name: 'prune', checked: prune ?? false, onchange: (event) => set({ prune: event.target.checked, found: null }) }),
          button('See what would change', () => apply(page, set, { dryRun: true }), { disabled: !text.trim(), busy: page.isBusy('check file') }),
          button('Apply', () => page.set({ dialog: 'apply' }), { kind: 'primary', disabled: !text.trim() })))),
    page.state.dialog === 'apply' && applyDialog(page, set, prune),
  ];
}

async function read(page, set) {
  page.busy.add('read file');
  page.redraw();
  try {
    const { teamFile } = await page.api.ask(READ);
    set({ text: teamFile.text, found: null, trouble: null });
  } catch (error) {
    toast({ text: Trouble.of(error).message, detail: Trouble.of(error).next, tone: 'bad' });
  } finally {
    page.busy.delete('read file');
    page.redraw();
  }
}

async function apply(page, set, { dryRun }) {
  const { text, prune = false } = page.state.file;
  try {
    const found = await page.act(APPLY, { file: text, prune, dryRun }, { name: dryRun ? 'check file' : 'apply file', done: dryRun ? undefined : 'The team is as the file says', quiet: true });
    if (found) set({ found: { ...found, dryRun }, trouble: null });
  } catch (trouble) {
    set({ trouble, found: null });
  }
  page.set({ dialog: null });
}

function applyDialog(page, set, prune) {
  const close = () => page.set({ dialog: null });
  return frame({ title: 'Apply the file?', onclose: close },
    h('div', { class: 'form' },
      h('p', null, 'The team is brought to what the file says, all or nothing.', prune && ' Agents that it does not name are archived, for good.'),
      h('div', { class: 'form-actions' }, button('Not yet', close), button('Apply', () => apply(page, set, { dryRun: false }), { kind: prune ? 'danger' : 'primary', busy: page.isBusy('apply file') }))));
}

/** A click on a problem selects its line in the file. */
function problems(trouble) {
  if (!trouble.problems.length) return h('p', { class: 'form-trouble', role: 'alert' }, trouble.message, ' ', trouble.next);
  return h('div', { class: 'file-problems', role: 'alert' },
    h('p', { class: 'form-trouble' }, `${plural(trouble.problems.length, 'problem')}; nothing was changed.`),
    h('ul', null, trouble.problems.map((problem) => h('li', { key: `${problem.line} ${problem.path} ${problem.message}` },
      problem.line ? h('button', { type: 'button', class: 'line-link', onclick: () => select(problem.line) }, `Line ${problem.line}`) : null,
      h('code', null, problem.path), h('span', null, problem.message)))));
}

function select(line) {
  const area = document.querySelector('textarea.file-text');
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(area).lineHeight));
}

function changes(found) {
  const parts = [
    [found.created, 'new'], [found.updated, 'changed'], [found.archived, 'archived'], [found.changedTeamFields, 'fields of the team'],
  ].filter(([names]) => names.length).map(([names, what]) => h('li', { key: what }, h('strong', null, what), `: ${names.join(', ')}`));
  if (found.handoffRulesChanged) parts.push(h('li', { key: 'rules' }, `${plural(found.handoffRulesChanged, 'handoff rule')} changed`));
  return h('div', { class: 'notice tone-good', role: 'status' },
    h('p', null, !found.changed ? 'The team is already as the file says.' : found.dryRun ? 'This would change:' : 'This was changed:'),
    parts.length > 0 && h('ul', null, parts));
}
