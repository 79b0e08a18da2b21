// Values as people read them: in their own time zone and the browser's language for dates, short and exact otherwise.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** '3 min. ago', 'in 2 hr.', 'now'. */
export function ago(moment, now = Date.now()) {
  const seconds = (new Date(moment) - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 10) return 'now';
  if (size < MINUTE) return relative.format(Math.round(seconds), 'second');
  if (size < HOUR) return relative.format(Math.round(seconds / MINUTE), 'minute');
  if (size < DAY) return relative.format(Math.round(seconds / HOUR), 'hour');
  return relative.format(Math.round(seconds / DAY), 'day');
}

export const localTime = (moment) => full.format(new Date(moment));
export const clockTime = (moment) => clock.format(new Date(moment));

/** '400 ms', '2.5 s', '2 min 30 s', '10 min', '1 h 5 min'. Rounded first, so that no minute has 60 seconds. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 0.001) return '0 s';
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  return rounded < HOUR ? parts(rounded, 'min', 's') : parts(Math.round(seconds / MINUTE), 'h', 'min');
}

/** Of minutes and seconds, or hours and minutes, those that there are. */
function parts(value, large, small) {
  const [many, rest] = [Math.floor(value / MINUTE), value % MINUTE];
  return [many > 0 && `${whole.format(many)} ${large}`, rest > 0 && `${rest} ${small}`].filter(Boolean).join(' ');
}

/** US dollars: '$0', '$0.0012', '$12.30'. Small costs keep two digits that say something. */
export function money(usd) {
  const value = Number(usd ?? 0);
  if (value === 0) return '$0';
  if (Math.abs(value) < 0.01) return `$${value.toFixed(6).replace(/\.?0+$/, '')}`;
  return `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

export const count = (value) => (value < 100_000 ? whole.format(value ?? 0) : short.format(value));
export const percent = (share) => (share === null || share === undefined ? '–' : `${Math.round(share * 100)} %`);
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

const SAID = { API_CONTRACT: 'API contract', SUPERVISOR_WORKER: 'Supervisor and workers' };

/** 'IN_PROGRESS' -> 'In progress'. */
export function words(name) {
  if (SAID[name]) return SAID[name];
  const text = String(name ?? '').toLowerCase().replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The start of the present UTC day: budgets count by it. */
export const utcDay = (now = new Date()) => `${now.toISOString().slice(0, 10)}T00:00:00Z`;

/** A text without the marks of headings, lists, bold and code, in one line: for previews. */
export const bare = (text) => text.replace(/^[#>*\-\s]+|[*_`]{2,}|`/g, '').replace(/\s+/g, ' ');

export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);
