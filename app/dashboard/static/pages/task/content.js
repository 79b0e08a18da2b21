// The words of a task: what was asked, and what came of it, as texts and never as markup.

import { h } from '../../dom.js';
import { words } from '../../format.js';
import { card, code, foldedProse, foldedRich, linkButton } from '../../parts.js';
import { to } from '../../router.js';

const VIOLATED = 'CONTRACT_VIOLATED';

export function asked(task) {
  return card({ title: 'What was asked' },
    foldedRich(task.instructions),
    part('Context', task.context && foldedProse(task.context)),
    part('Expected output', task.expectedOutput && foldedProse(task.expectedOutput)),
    part('Works on', task.inputArtifacts.length > 0 && references(task.inputArtifacts)),
    part(task.contract ? `Given under the contract ${task.contract.name}, version ${task.contract.version}` : 'Given as data', task.contractInput && code(task.contractInput)),
    part('Tools', task.allowedTools && (task.allowedTools.length ? task.allowedTools.join(', ') : 'none')));
}

export function outcome(task) {
  const letter = task.deadLetters.nodes.find(({ status }) => status === 'OPEN');
  if (task.error || task.errorCode) return failure(task, letter);
  if (task.result === null && task.output === null) return null;
  return card({ title: 'Result' },
    task.result && foldedRich(task.result),
    part('As data', task.output !== null && code(task.output)),
    part('Made', task.resultArtifacts.length > 0 && references(task.resultArtifacts)));
}

function failure(task, letter) {
  const violated = task.errorCode === VIOLATED;
  return card({ title: violated ? 'The output breaks its contract' : 'Why it did not complete', class: 'tone-bad outlined' },
    violated ? violations(task.error) : foldedProse(task.error ?? words(task.errorCode)),
    h('p', { class: 'quiet small' }, task.errorCode && h('code', null, task.errorCode)),
    part('Its output', violated && task.output !== null && code(task.output)),
    letter && linkButton('Resolve the dead letter', to('/dead-letters', {}, { letter: letter.id })));
}

/** 'The output does not fit …: path: why; path: why' as a list of places. */
function violations(error) {
  const [lead, ...rest] = String(error ?? '').split(/(?<='): /);
  const places = rest.join(': ').split('; ').filter(Boolean);
  if (!places.length) return foldedProse(lead);
  return h('div', { class: 'violations' }, h('p', null, `${lead}:`), h('ul', { class: 'bullets' }, places.map((place, index) => {
    const [path, ...why] = place.split(': ');
    return h('li', { key: index }, why.length ? [h('code', null, path), ` ${why.join(': ')}`] : path);
  })));
}

const part = (name, content) => content && h('div', { class: 'part', key: name }, h('h3', null, name), content);

/** Only addresses become links; `task:` and the like name things that Parley has. */
function references(artifacts) {
  return h('ul', { class: 'bullets' }, artifacts.map((artifact) => h('li', { key: artifact },
    /^https?:\/\//.test(artifact) ? h('a', { href: artifact, rel: 'noreferrer noopener', target: '_blank' }, artifact) : h('code', null, artifact))));
}
