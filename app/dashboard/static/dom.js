// Draws the page: h() describes an element, patch() makes the document look like the description.
//
// Texts become text nodes and nothing else, so what an agent writes can never become markup. A redraw changes only what
// differs, by key where one is given: focus, selection, scrolling and what was typed stay.

const SVG = 'http://www.w3.org/2000/svg';
const PROPERTIES = new Set(['value', 'checked', 'selected', 'indeterminate', 'muted']);
const ADDRESSES = new Set(['href', 'src', 'action', 'formaction', 'xlink:href']);
const REFUSED = new Set(['srcdoc', 'innerhtml', 'outerhtml', 'textcontent']);
const SAFE_ADDRESS = /^(https?:|mailto:|[#/.?]|[\w-]+(\/|$))/i;

const mounting = [];  // made by the drawing under way; each is told when all of it is in the document

/** h('p', { class: 'note', onclick: act }, 'text', [more], condition && h(…)). Special: `key`, `mount`. */
export function h(tag, props, ...children) {
  const given = props ?? {};
  return { tag, key: given.key, props: given, children: children.flat(Infinity).filter(isDrawn).map(asNode), el: null };
}

/** Make `root` show the nodes. What was drawn into it before is changed, not made anew. */
export function patch(root, nodes) {
  const active = document.activeElement;
  const after = [nodes].flat(Infinity).filter(isDrawn).map(asNode);
  patchChildren(root, root.drawn ?? [], after, false);
  root.drawn = after;
  for (const node of mounting.splice(0)) node.unmount = node.props.mount(node.el);
  // A move in the document takes the focus away from what is moved.
  if (active !== document.activeElement && active?.isConnected && root.contains(active)) {
    active.focus({ preventScroll: true });
  }
}

const isDrawn = (child) => child !== null && child !== undefined && child !== false && child !== true;
const asNode = (child) => (typeof child === 'object' ? child : { tag: null, text: String(child), el: null });

function patchChildren(parent, before, after, inSvg) {
  const { kept, left } = pair(before, after);
  for (const node of left) remove(node);
  let place = parent.firstChild;
  after.forEach((node, index) => {
    const old = kept[index];
    if (old) update(old, node, inSvg);
    else create(node, inSvg);
    if (node.el === place) place = place.nextSibling;
    else parent.insertBefore(node.el, place);
    if (!old && node.props?.mount) mounting.push(node);
  });
}

/** Which old node each new one goes on from: the same key, or the next without a key of the same kind. */
function pair(before, after) {
  const keyed = new Map();
  const plain = new Map();
  for (const node of before) {
    if (node.key !== undefined) keyed.set(node.key, node);
    else if (plain.has(node.tag)) plain.get(node.tag).push(node);
    else plain.set(node.tag, [node]);
  }
  const kept = after.map((node) => {
    if (node.key === undefined) return plain.get(node.tag)?.shift();
    const found = keyed.get(node.key);
    if (found?.tag !== node.tag) return undefined;
    keyed.delete(node.key);
    return found;
  });
  return { kept, left: [...keyed.values(), ...[...plain.values()].flat()] };
}

function create(node, inSvg) {
  if (node.tag === null) {
    node.el = document.createTextNode(node.text);
    return;
  }
  const svg = inSvg || node.tag === 'svg';
  node.el = svg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  patchChildren(node.el, [], node.children, svg && node.tag !== 'foreignObject');
  for (const [name, value] of Object.entries(node.props)) setProp(node.el, name, value, undefined);
}

function update(old, node, inSvg) {
  node.el = old.el;
  node.unmount = old.unmount;
  if (node.tag === null) {
    if (old.text !== node.text) node.el.data = node.text;
    return;
  }
  const svg = inSvg || node.tag === 'svg';
  patchChildren(node.el, old.children, node.children, svg && node.tag !== 'foreignObject');
  for (const name of Object.keys(old.props)) {
    if (!(name in node.props)) setProp(node.el, name, undefined, old.props[name]);
  }
  for (const [name, value] of Object.entries(node.props)) {
    if (value !== old.props[name]) setProp(node.el, name, value, old.props[name]);
  }
}

function remove(node) {
  leave(node);
  node.el.remove();
}

function leave(node) {
  if (typeof node.unmount === 'function') node.unmount();
  node.children?.forEach(leave);
}

function setProp(el, name, value, old) {
  if (name === 'key' || name === 'mount') return;
  if (name.startsWith('on')) listen(el, name.slice(2), value);
  else if (name === 'style') setStyle(el, value ?? {}, old ?? {});
  else if (PROPERTIES.has(name)) el[name] = value ?? '';
  else setAttribute(el, name, value);
}

function setAttribute(el, name, value) {
  if (REFUSED.has(name.toLowerCase())) throw new TypeError(`${name} is never set from here`);
  if (value === null || value === undefined || value === false) el.removeAttribute(name);
  else if (ADDRESSES.has(name) && !SAFE_ADDRESS.test(value)) el.removeAttribute(name);
  else el.setAttribute(name, value === true ? '' : Array.isArray(value) ? value.filter(Boolean).join(' ') : value);
}

/** By properties, which a content security policy allows, never by the attribute. Custom properties work, too. */
function setStyle(el, value, old) {
  for (const name of Object.keys(old)) if (!(name in value)) el.style.removeProperty(name);
  for (const [name, one] of Object.entries(value)) if (one !== old[name]) el.style.setProperty(name, one ?? '');
}

/** One listener for each type, which looks up what to call: a redraw only exchanges the function. */
function listen(el, type, handler) {
  el.handlers ??= {};
  if (!(type in el.handlers)) el.addEventListener(type, (event) => el.handlers[type]?.(event));
  el.handlers[type] = handler;
}
