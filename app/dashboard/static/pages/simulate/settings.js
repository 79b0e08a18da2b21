// The settings of a simulation: four weights that always sum to 1, threshold, skill floor, strategy and k.
// Nothing here draws.

import { SIGNALS } from '../decision/signals.js';

const NAMES = SIGNALS.map(({ name }) => name);
const PARTS = 100;  // weights move in hundredths, so that their sum stays exact

/** Give one weight a new value; the others share the rest as they did before. All stay hundredths and sum to 1. */
export function reweighted(weights, changed, value) {
  const others = NAMES.filter((name) => name !== changed);
  const wanted = Math.max(0, Math.min(PARTS, Math.round(value * PARTS)));
  const rest = PARTS - wanted;
  const before = others.map((name) => weights[name] * PARTS);
  const sum = before.reduce((total, one) => total + one, 0);
  const exact = before.map((one) => (sum > 0 ? (one / sum) * rest : rest / others.length));
  const given = spread(exact, rest);
  return Object.fromEntries(NAMES.map((name) => [name, (name === changed ? wanted : given[others.indexOf(name)]) / PARTS]));
}

/** Whole numbers next to these that sum to `total`: the largest remainders are rounded up. */
function spread(exact, total) {
  const whole = exact.map(Math.floor);
  const order = exact.map((one, index) => [one - whole[index], index]).sort((a, b) => b[0] - a[0]);
  let missing = Math.round(total - whole.reduce((sum, one) => sum + one, 0));
  for (const [, index] of order) if (missing-- > 0) whole[index] += 1;
  return whole;
}

export const settingsOf = (policy) => ({ weights: pick(policy.weights), threshold: policy.threshold, skillFloor: policy.skillFloor, strategy: policy.strategy, k: policy.k });

const pick = (weights) => Object.fromEntries(NAMES.map((name) => [name, weights[name]]));

export const isChanged = (settings, policy) => JSON.stringify(settings) !== JSON.stringify(settingsOf(policy));

/** Only what differs from the policy, as setRoutingPolicy takes it. */
export function changesOf(settings, policy) {
  const now = settingsOf(policy);
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(now[name])));
}
