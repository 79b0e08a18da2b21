// One button for each sample session; a click starts it and goes to its page.

import { h } from './dom.js';
import { go, to } from './router.js';
import { SAMPLES, START, sampleInput } from './samples.js';

/** `agents` are the team's, `featureFlags` its flags. */
export function sampleButtons({ agents, featureFlags }, page) {
  const enabled = featureFlags.some(({ flag, enabled: on }) => flag === 'COLLABORATION' && on);
  if (!enabled) return h('p', { class: 'notice tone-wait' }, 'Sessions are off for this team. An admin turns them on under Team, Features.');
  return h('div', { class: 'samples' },
    h('h3', { class: 'samples-title' }, 'Start a sample'),
    h('ul', null, SAMPLES.map((sample) => h('li', { key: sample.pattern }, sampleButton(sample, agents, page)))));
}

function sampleButton(sample, agents, page) {
  const input = sampleInput(sample, agents);
  const start = async () => {
    const payload = await page.act(START, input, { done: 'The session runs', name: sample.pattern });
    if (payload) go(to('/sessions/:id', { id: payload.collaboration.id }));
  };
  return h('button', { type: 'button', class: 'sample', onclick: start, disabled: !input || page.isBusy(sample.pattern), title: input ? null : `It takes ${sample.cast.length} active managed agents.` },
    h('strong', null, sample.title), h('span', null, sample.text));
}
