// Which page the address names: '#/sessions/collab_…?tab=votes' is the page '/sessions/:id' with a parameter and a query.

/** { path, query } of the present address. */
export function here() {
  const [path, search = ''] = location.hash.replace(/^#/, '').split('?');
  return { path: path || '/', query: Object.fromEntries(new URLSearchParams(search)) };
}

/** The page for a path and the values of its parameters; undefined when there is none. */
export function match(pages, path) {
  for (const page of pages) {
    const params = fit(page.path, path);
    if (params) return { page, params };
  }
  return undefined;
}

function fit(pattern, path) {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decode(given[index]);
    else if (part !== given[index]) return null;
  }
  return params;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page, as the value of an href: to('/tasks/:id', { id }), to('/tasks', {}, { status: 'FAILED' }). */
export function to(pattern, params = {}, query = {}) {
  const path = pattern.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return `#${path}${given.length ? `?${new URLSearchParams(given)}` : ''}`;
}

export function go(address) {
  location.hash = address;
}

/** Change the query of the present page without a new entry in the history. */
export function replaceQuery(query) {
  history.replaceState(null, '', to(here().path, {}, query));
  dispatchEvent(new HashChangeEvent('hashchange'));
}
