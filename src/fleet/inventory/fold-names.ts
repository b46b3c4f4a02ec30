/** A smaller set of names is easier read as it is. */
const fewest = 3;
/** Characters of one word: lines are broken between words. */
const longest = 60;

const inSentence = { names: 3, characters: 40 } as const;

/** Letters and digits of a name by turns: the texts between its numbers, and the numbers as written. */
interface Parts {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
}

/** All names that have one of these numbers at each place. */
interface Box {
  readonly texts: readonly string[];
  readonly numbers: readonly (readonly string[])[];
}

/**
 * Names in few words, in the order in which they first appear: `gpu-[000-099,101-299], rtx-box`. A range counts in the
 * width of its first number, so that `[008-010]` and `[8-10]` are different names. What it stands for is exactly the
 * names given, and host patterns (`select.ts`) read it. Names with brackets or commas in them stay as they are.
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

/** Within a sentence: the fold where it is short, else the first names and how many more there are. */
export function namesInShort(names: readonly string[]): string {
  const folded = foldNames(names);
  const rest = names.length - inSentence.names;
  if (rest <= 0 || folded.length <= inSentence.characters) return folded;
  return `${names.slice(0, inSentence.names).join(', ')} and ${rest} more`;
}

/** Numbers too long to be counted with are text. */
function partsOf(name: string): Parts {
  if (/[[\],]/.test(name)) return { texts: [name], numbers: [] };
  const numbers = name.match(/(?<!\d)\d{1,15}(?!\d)/g) ?? [];
  return { texts: name.split(/(?<!\d)\d{1,15}(?!\d)/), numbers };
}

/** Joins what differs at one place only, the last place first: it is where most fleets count. */
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

/** The same in two, parted where there is most to say; nothing where there is one range at each place. */
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

/** Sorted numbers as `7`, or as `[000-099,101]`. */
function rangeText(numbers: readonly string[]): string {
  const [only = ''] = numbers;
  if (numbers.length === 1) return only;
  const texts = runsOf(numbers).map(({ first, last }) => (first === last ? first : `${first}-${last}`));
  return `[${texts.join(',')}]`;
}

interface Run {
  readonly first: string;
  last: string;
  /** Where it begins among the numbers. */
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

/** `9` before `10` and before `09`: in each width, what follows in counting follows here. */
function byValue(left: string, right: string): number {
  return left.length - right.length || Number(left) - Number(right);
}
