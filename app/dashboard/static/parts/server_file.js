// Files of the server that need the key: fetched with it in a header, then given to the browser to keep.

import { Trouble } from '../trouble.js';
import { download } from './download.js';
import { toast } from './toast.js';

/** saveServerFile(page, 'reports/report_….md', 'risks.md'): `path` is relative to the dashboard's own address. */
export async function saveServerFile(page, path, name) {
  const busy = `download ${path}`;
  page.busy.add(busy);
  page.redraw();
  try {
    download(name, await body(page.api, path));
  } catch (error) {
    const trouble = Trouble.of(error);
    toast({ text: trouble.message, detail: trouble.next, tone: 'bad' });
  } finally {
    page.busy.delete(busy);
    page.redraw();
  }
}

async function body(api, path) {
  const response = await fetch(new URL(path, document.baseURI), { headers: { Authorization: `Bearer ${api.key}` }, credentials: 'omit' })
    .catch(() => { throw new Trouble('OFFLINE', 'The server cannot be reached.'); });
  if (!response.ok) throw new Trouble('UNAVAILABLE', `The server answered ${response.status}.`);
  return response.blob();
}

/** A title as the name of a file: letters and digits of any script, and dashes. */
export const fileName = (title, ending) => `${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 80) || 'file'}.${ending}`;
