/** Names from which a range is used; fewer are listed. */
const fewest = 3;
/** Characters of one word: lines break between words. */
const longest = 60;

const inSentence = { names: 3, characters: 40 } as const;

/** The texts and the numbers of a name, in turn, as written. */
interface Parts {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
}

/** All names with one of these numbers at each place. */
interface Box {
  readonly texts: readonly string[];
  readonly numbers: readonly (readonly string[])[];
}

/**
 * Folds names into ranges, in the order of first appearance: `gpu-[000-099,101-299], rtx-box`. The first number of a
 * range sets its width, so `[008-010]` and `[8-10]` are different names. The result expands to exactly these names, and
 * host patterns (`select.ts`) accept it. Names with brackets or commas are not folded.
 */
export function foldNames(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const position = new Map(distinct.map((name, index) => [name, index]));
  const groups = Map.groupBy(distinct, (name) => JSON.stringify(partsOf(name).texts));
  const words = [...groups.values()].flatMap((alike) => boxes(alike.map(partsOf)).flatMap(boxText));
  const first = ({ covers }: Word) => Math.min(...covers.map((name) => position.get(name) ?? 0));
  return words
    .map((word) => ({ word, at: first(word) }))
    .sort((left, right) => left.at - right.at)
    .map(({ word }) => word.text)
    .join(', ');
}

/** Returns the folded names for use in a sentence: if they are long, the first names and the number of the others. */
export function namesInShort(names: readonly string[]): string {
  const folded = foldNames(names);
  const rest = names.length - inSentence.names;
  if (rest <= 0 || folded.length <= inSentence.characters) return folded;
  return `${names.slice(0, inSentence.names).join(', ')} and ${rest} more`;
}

/** Splits a name into texts and numbers; a number of more than 15 digits is text. */
function partsOf(name: string): Parts {
  if (/[[\],]/.test(name)) return { texts: [name], numbers: [] };
  const numbers = name.match(/(?<!\d)\d{1,15}(?!\d)/g) ?? [];
  return { texts: name.split(/(?<!\d)\d{1,15}(?!\d)/), numbers };
}

/** Joins names that differ at one place only, beginning with the last place: most fleets number there. */
function boxes(parts: readonly Parts[]): readonly Box[] {
  let found: readonly Box[] = parts.map(({ texts, numbers }) => ({
    texts,
    numbers: numbers.map((number) => [number]),
  }));
  for (let place = (parts[0]?.numbers.length ?? 0) - 1; place >= 0; place -= 1) {
    const alike = Map.groupBy(found, ({ numbers }) => JSON.stringify(numbers.with(place, [])));
    found = [...alike.values()].flatMap((group) => {
      const [first] = group;
      const union = group.flatMap(({ numbers }) => numbers[place] ?? []).sort(byValue);
      return first === undefined ? [] : [{ ...first, numbers: first.numbers.with(place, union) }];
    });
  }
  return found;
}

interface Word {
  readonly text: string;
  readonly covers: readonly string[];
}

function boxText({ texts, numbers }: Box): readonly Word[] {
  const covers = numbers.reduce<readonly string[]>(
    (names, each, place) =>
      names.flatMap((name) => each.map((number) => `${name}${number}${texts[place + 1] ?? ''}`)),
    [texts[0] ?? ''],
  );
  if (covers.length < fewest) return covers.map((name) => ({ text: name, covers: [name] }));
  const text = numbers.reduce(
    (sofar, each, place) => `${sofar}${rangeText(each)}${texts[place + 1] ?? ''}`,
    texts[0] ?? '',
  );
  const [left, right] = halves(numbers);
  return text.length > longest && left !== undefined && right !== undefined
    ? [left, right].flatMap((half) => boxText({ texts, numbers: half }))
    : [{ text, covers }];
}

/** Splits a box at the place with the most ranges; returns nothing if each place has one range. */
function halves(numbers: Box['numbers']): readonly Box['numbers'][] {
  const runs = numbers.map(runsOf);
  const most = Math.max(...runs.map(({ length }) => length));
  const place = runs.findIndex(({ length }) => length === most);
  if (most < 2) return [];
  const middle = runs[place]?.[Math.ceil(most / 2)]?.at;
  return [numbers[place]?.slice(0, middle) ?? [], numbers[place]?.slice(middle) ?? []].map((half) =>
    numbers.with(place, half),
  );
}

/** Formats sorted numbers as `7` or `[000-099,101]`. */
function rangeText(numbers: readonly string[]): string {
  const [only = ''] = numbers;
  if (numbers.length === 1) return only;
  const texts = runsOf(numbers).map(({ first, last }) => (first === last ? first : `${first}-${last}`));
  return `[${texts.join(',')}]`;
}

interface Run {
  readonly first: string;
  last: string;
  /** Index of its first number. */
  readonly at: number;
}

function runsOf(numbers: readonly string[]): readonly Run[] {
  const runs: Run[] = [];
  numbers.forEach((number, at) => {
    const run = runs.at(-1);
    if (run !== undefined && number === after(run.last, run.first.length)) run.last = number;
    else runs.push({ first: number, last: number, at });
  });
  return runs;
}

function after(number: string, width: number): string {
  return String(Number(number) + 1).padStart(width, '0');
}

/** Sorts by width, then by value: `9` before `09` and `10`. */
function byValue(left: string, right: string): number {
  return left.length - right.length || Number(left) - Number(right);
}
