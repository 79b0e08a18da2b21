// The icons, as strokes on a grid of 24. They say nothing to a screen reader: the text beside them does.

import { h } from './dom.js';

const PATHS = {
  overview: ['M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z'],
  session: ['M4 6h9M4 12h5M4 18h12', 'M16 6h4M12 12h8M19 18h1'],
  task: ['M5 5h14v14H5z', 'M9 12l2.200 2.200L15.500 10'],
  conversation: ['M4 5h16v11H11l-4 3.500V16H4z'],
  routing: ['M5 19V12a4 4 0 0 1 4-4h10', 'M15.500 4.500 19 8l-3.500 3.500', 'M5 19h0'],
  simulate: ['M5 7h8M17 7h2M5 17h2M11 17h8', 'M15 5v4M9 15v4'],
  inbox: ['M4 13 6.500 5h11L20 13v6H4z', 'M4 13h5l1 2h4l1-2h5'],
  consultation: ['M8 9a4 4 0 1 1 5.500 3.700c-1 .5-1.500 1.100-1.500 2.300', 'M12 18.500v.5'],
  report: ['M6 3.500h8l4 4V20H6z', 'M9 12h6M9 16h4'],
  attention: ['M12 4a5 5 0 0 1 5 5c0 5 2 6 2 6H5s2-1 2-6a5 5 0 0 1 5-5z', 'M10.500 19h3'],
  dead: ['M5 8h14v11H5z', 'M4 5h16v3H4z', 'M10 12h4'],
  agent: ['M12 4.500a3.500 3.500 0 1 1 0 7 3.500 3.500 0 0 1 0-7z', 'M5 20c.5-4 3-6 7-6s6.500 2 7 6'],
  team: ['M4 7h10M18 7h2M4 12h2M10 12h10M4 17h8M16 17h4', 'M16 5v4M8 10v4M14 15v4'],
  more: ['M5 7h14M5 12h14M5 17h14'],
  sun: ['M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8z', 'M12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1 1M17.400 17.400l1 1M18.400 5.600l-1 1M6.600 17.400l-1 1'],
  moon: ['M19 14.500A7.500 7.500 0 0 1 9.500 5a7.500 7.500 0 1 0 9.500 9.500z'],
  leave: ['M10 5H5v14h5', 'M14 8l4 4-4 4M18 12H9'],
  copy: ['M9 9h10v10H9z', 'M15 9V5H5v10h4'],
  check: ['M5 12.500 10 17.500 19 7'],
  close: ['M6 6l12 12M18 6 6 18'],
  play: ['M8 5.500v13l10-6.500z'],
  pause: ['M9 6v12M15 6v12'],
  arrow: ['M5 12h14M13 6l6 6-6 6'],
  plus: ['M12 5v14M5 12h14'],
  minus: ['M5 12h14'],
  download: ['M12 4v11M7.500 10.500 12 15l4.500-4.500', 'M5 19h14'],
  clock: ['M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16z', 'M12 8v4.500l3 2'],
  external: ['M9 5H5v14h14v-4', 'M13 5h6v6M19 5l-8 8'],
  up: ['M12 19V5M6 11l6-6 6 6'],
  search: ['M11 5a6 6 0 1 1 0 12 6 6 0 0 1 0-12z', 'M15.500 15.500 20 20'],
};

export function icon(name, { size = 18 } = {}) {
  const strokes = (PATHS[name] ?? []).map((d) => h('path', { d }));
  return h('svg', { class: 'icon', width: size, height: size, viewBox: '0 0 24 24', 'aria-hidden': 'true' }, strokes);
}
