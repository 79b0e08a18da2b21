// Light or dark: the system's choice until somebody turns it, then theirs, in this browser.

const STORED = 'parley.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

export const theme = () => document.documentElement.dataset.theme ?? (system.matches ? 'dark' : 'light');

export function turnTheme() {
  const next = theme() === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  localStorage.setItem(STORED, next);
}
