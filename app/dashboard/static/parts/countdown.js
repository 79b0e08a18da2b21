// How long until a deadline, to the second once it is near.

import { h } from '../dom.js';
import { ago, duration, localTime } from '../format.js';

const NEAR_S = 600;
const SECOND_MS = 1000;

/** countdown(moment, page.redraw): 'in 2 hr.', 'in 4 min 10 s', 'passed 3 min. ago'. */
export function countdown(moment, redraw) {
  const left = (new Date(moment) - Date.now()) / 1000;
  const text = left <= 0 ? `passed ${ago(moment)}` : left < NEAR_S ? `in ${duration(Math.max(1, Math.round(left)))}` : ago(moment);
  const tick = () => {
    const timer = setInterval(redraw, SECOND_MS);
    return () => clearInterval(timer);
  };
  return h('time', { key: left < NEAR_S ? 'near' : 'far', datetime: moment, title: localTime(moment), class: left < NEAR_S && 'is-near', mount: left < NEAR_S && left > 0 ? tick : undefined }, text);
}
