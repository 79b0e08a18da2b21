// Reads the plain marks that models write (headings, lists, tables, code, emphasis) into blocks. It knows no links, no
// images and no markup: what is not a mark stays text. Every pattern passes over its text once.

const FENCE = /^\s{0,3}(```|~~~)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,4}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const ROW = /^\s*\|(.*)\|\s*$/;
const RULE = /^[\s|:-]+$/;
const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|(?<!\w)_(?:[^_\n]|(?<=\w)_(?=\w))+_(?!\w))/;

/** [{ kind: 'heading' | 'list' | 'table' | 'code' | 'quote' | 'text', … }]. */
export function blocksOf(text) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const blocks = [];
  for (let index = 0; index < lines.length;) index = read(lines, index, blocks);
  return blocks;
}

function read(lines, start, blocks) {
  const line = lines[start];
  if (!line.trim()) return start + 1;
  if (FENCE.test(line)) return readCode(lines, start, blocks);
  const heading = HEADING.exec(line);
  if (heading) {
    blocks.push({ kind: 'heading', level: heading[1].length, text: heading[2] });
    return start + 1;
  }
  if (ITEM.test(line)) return run(lines, start, ITEM, (found) => blocks.push({ kind: 'list', ordered: /\d/.test(found[0][2]), items: found.map(([, indent, , text]) => ({ depth: Math.min(3, indent.length >> 1), text })) }));
  if (ROW.test(line)) return run(lines, start, ROW, (found) => blocks.push({ kind: 'table', rows: found.filter(([, cells]) => !RULE.test(cells)).map(([, cells]) => cells.split('|').map((cell) => cell.trim())) }));
  if (QUOTE.test(line)) return run(lines, start, QUOTE, (found) => blocks.push({ kind: 'quote', text: found.map(([, text]) => text).join('\n') }));
  return readText(lines, start, blocks);
}

/** The lines in a row that fit a pattern. */
function run(lines, start, pattern, keep) {
  const found = [];
  let index = start;
  for (let one; index < lines.length && (one = pattern.exec(lines[index])); index += 1) found.push(one);
  keep(found);
  return index;
}

function readCode(lines, start, blocks) {
  const [, mark] = FENCE.exec(lines[start]);
  let end = start + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(mark)) end += 1;
  blocks.push({ kind: 'code', text: lines.slice(start + 1, end).join('\n') });
  return end + 1;
}

function readText(lines, start, blocks) {
  let end = start + 1;
  while (end < lines.length && lines[end].trim() && ![FENCE, HEADING, ITEM, ROW, QUOTE].some((pattern) => pattern.test(lines[end]))) end += 1;
  blocks.push({ kind: 'text', text: lines.slice(start, end).join('\n') });
  return end;
}

/** [{ tag: null | 'code' | 'strong' | 'em', text }]. */
export function spansOf(text) {
  return text.split(INLINE).filter(Boolean).map((piece) => {
    if (piece.length > 2 && piece.startsWith('`') && piece.endsWith('`')) return { tag: 'code', text: piece.slice(1, -1) };
    if (piece.length > 4 && piece.startsWith('**') && piece.endsWith('**')) return { tag: 'strong', text: piece.slice(2, -2) };
    if (piece.length > 2 && piece.startsWith('_') && piece.endsWith('_')) return { tag: 'em', text: piece.slice(1, -1) };
    return { tag: null, text: piece };
  });
}
