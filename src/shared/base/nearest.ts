/** Returns the known name that a mistyped word probably means; undefined when none is close. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  if (best === undefined) return undefined;
  const limit = Math.min(word.length - 1, Math.max(1, Math.floor(word.length / 3)));
  return best.distance <= limit ? best.name : undefined;
}

/** Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      if (from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, at(beforePrevious, column - 2) + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/** Returns the shortest known name that starts or ends with a word: `h20` → `h200-1`. */
export function completed(word: string, known: Iterable<string>): string | undefined {
  if (word.length < 3) return undefined;
  const part = word.toLowerCase();
  const whole = [...known].filter((name) => {
    const lower = name.toLowerCase();
    return lower.startsWith(part) || lower.endsWith(part);
  });
  return whole.sort((left, right) => left.length - right.length)[0];
}
