import type { ScriptCase, ScriptSuite } from '../support/scratch/case.ts';
import { damages, type Damage } from './damage.ts';

/** A suite's scripts with one place of one line damaged, wherever that line stands. */
export interface Mutant {
  readonly kind: Damage['kind'];
  readonly before: string;
  readonly after: string;
  /** The same in every suite whose scripts have this line between the same lines. */
  readonly place: string;
  /** What the cases run instead; cases whose script lacks the line are not among them. */
  readonly scripts: ReadonlyMap<ScriptCase, string>;
}

/**
 * One mutant for each damage of each line that the scripts of a suite have. Scripts of one kind share most of their
 * lines: one that looks alike, after one that begins alike, is the same place in all of them. Pure.
 */
export function mutantsOf(
  { cases, elsewhere = [] }: ScriptSuite,
  isValid: (script: string) => boolean,
): Mutant[] {
  const texts = new Map<string, ScriptCase[]>();
  for (const each of cases) texts.set(each.script, [...(texts.get(each.script) ?? []), each]);
  const mutants = new Map<string, Omit<Mutant, 'scripts'> & { scripts: Map<ScriptCase, string> }>();
  for (const [text, users] of texts) {
    const lines = text.split('\n');
    const places = new Map<string, number>();
    const arounds = new Map<string, number>();
    const skipped = new Set(elsewhere.flatMap((part) => linesOf(text, part)));
    for (const [at, before] of lines.entries()) {
      if (skipped.has(at)) continue;
      const place = `${firstWord(lines[at - 1])}\n${bare(before)}`;
      const nth = (places.get(place) ?? 0) + 1;
      places.set(place, nth);
      const around = lines.slice(Math.max(0, at - 1), at + 2).join('\n');
      const again = (arounds.get(around) ?? 0) + 1;
      arounds.set(around, again);
      let dropped = false;
      for (const [which, { kind, line: after }] of damages(before).entries()) {
        // Where a command is required, one without effect replaces the line.
        if (kind === 'line' && dropped) continue;
        const script = lines.with(at, after).join('\n');
        if (!isValid(script)) continue;
        dropped ||= kind === 'line';
        const key = `${place}\n${nth} ${which}`;
        const mutant = mutants.get(key) ?? {
          kind,
          before,
          after,
          place: `${around}\n${again} ${which}`,
          scripts: new Map(),
        };
        mutants.set(key, mutant);
        for (const user of users) mutant.scripts.set(user, script);
      }
    }
  }
  return [...mutants.values()];
}

/** Numbers of the lines of a text that a part of it takes. */
function linesOf(text: string, part: string): number[] {
  const start = text.indexOf(part);
  if (start < 0) return [];
  const first = text.slice(0, start).split('\n').length - 1;
  return part.split('\n').map((_, index) => first + index);
}

function firstWord(line = ''): string {
  return line.trim().split(/[\s=]/, 1)[0] ?? '';
}

/** What differs between scripts of one kind: texts, digests, sizes. */
function bare(line: string): string {
  return line.replaceAll(/'[^']*'/g, "''").replaceAll(/[0-9a-f]{16,}|\d+/g, '#');
}
