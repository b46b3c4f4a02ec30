/** Most cells of the comparison table; a larger difference is shown as one block. */
const mostCells = 1_000_000;

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Compares two texts like `diff -u`, hunks only: `@@ -1,3 +1,4 @@`, ` same`, `-old`, `+new`. Equal texts: nothing. */
export function lineDiff(before: string, after: string, context = 3): readonly string[] {
  const lines = compared(linesOf(before), linesOf(after));
  return hunks(lines, context).flatMap(([from, to]) => [
    header(lines, from, to),
    ...lines.slice(from, to).map(({ sign, text }) => `${sign}${text}`),
  ]);
}

function linesOf(text: string): readonly string[] {
  if (text === '') return [];
  return text.endsWith('\n')
    ? text.slice(0, -1).split('\n')
    : `${text}\n\\ No newline at the end`.split('\n');
}

function compared(from: readonly string[], to: readonly string[]): readonly Line[] {
  const shorter = Math.min(from.length, to.length);
  let head = 0;
  while (head < shorter && from[head] === to[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && from.at(-1 - tail) === to.at(-1 - tail)) tail += 1;
  return [
    ...marked(' ', from.slice(0, head)),
    ...middle(from.slice(head, from.length - tail), to.slice(head, to.length - tail)),
    ...marked(' ', from.slice(from.length - tail)),
  ];
}

/** Compares by the longest common subsequence, for the fewest changed lines. */
function middle(from: readonly string[], to: readonly string[]): readonly Line[] {
  const width = to.length + 1;
  if ((from.length + 1) * width > mostCells) return [...marked('-', from), ...marked('+', to)];
  const common = new Uint32Array((from.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = from.length - 1; row >= 0; row -= 1)
    for (let column = to.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        from[row] === to[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < from.length && column < to.length) {
    const [old = '', now = ''] = [from[row], to[column]];
    const same = old === now;
    const removed = at(row + 1, column) >= at(row, column + 1);
    lines.push(
      same ? { sign: ' ', text: old } : removed ? { sign: '-', text: old } : { sign: '+', text: now },
    );
    if (same || removed) row += 1;
    if (same || !removed) column += 1;
  }
  return [...lines, ...marked('-', from.slice(row)), ...marked('+', to.slice(column))];
}

function marked(sign: Line['sign'], texts: readonly string[]): readonly Line[] {
  return texts.map((text) => ({ sign, text }));
}

/** Returns where hunks begin and end, with their context lines; adjacent hunks are joined. */
function hunks(lines: readonly Line[], context: number): readonly (readonly [from: number, to: number])[] {
  const found: [from: number, to: number][] = [];
  for (const [index, { sign }] of lines.entries()) {
    if (sign === ' ') continue;
    const [from, to] = [Math.max(0, index - context), Math.min(lines.length, index + context + 1)];
    const last = found.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

function header(lines: readonly Line[], from: number, to: number): string {
  const count = (part: readonly Line[], sign: Line['sign']): number =>
    part.filter((line) => line.sign === ' ' || line.sign === sign).length;
  const [before, hunk] = [lines.slice(0, from), lines.slice(from, to)];
  const range = (sign: Line['sign']): string => {
    const length = count(hunk, sign);
    // An empty range names the line before it.
    return `${sign}${count(before, sign) + (length === 0 ? 0 : 1)},${length}`;
  };
  return `@@ ${range('-')} ${range('+')} @@`;
}
