// What people said of the answers to a decision.

import { h } from '../../dom.js';
import { agentLink, avatar, card, foldedProse, time } from '../../parts.js';

export const RATINGS = 'ratings(last: 20) { totalCount nodes { stars comment ratedBy createdAt agent { id name } } }';

export function ratings({ ratings: { totalCount, nodes } }) {
  if (!nodes.length) return null;
  const left = totalCount - nodes.length;
  return card({ title: 'Ratings', subtitle: left > 0 && `The newest ${nodes.length} of ${totalCount}` },
    h('ul', { class: 'trail', 'aria-label': 'Ratings' }, [...nodes].reverse().map((one) => h('li', { key: `${one.agent.id} ${one.ratedBy}` },
      avatar({ id: one.ratedBy, name: one.ratedBy }, { size: 'small' }),
      h('div', null, h('p', null, h('strong', null, one.ratedBy), ` gave ${one.stars} of 5 to `, agentLink(one.agent)), one.comment && foldedProse(one.comment)),
      time(one.createdAt)))));
}
