import { readFileSync } from 'node:fs';
import { spread } from './statistics.ts';

/** One row of bench/floor.json: a figure that must not get worse. */
export interface Row {
  readonly title: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** Absent: the row only informs, or has a floor. */
  readonly goal?: number;
  /** The last measured value, where the goal is missed. */
  readonly floor?: number;
  /** What was tried to reach the goal, and by how much it moved. */
  readonly tried?: readonly string[];
}

export interface Floors {
  /** The part by which a value may be worse than its goal or floor. */
  readonly tolerance: number;
  /** By `PART.NAME`. */
  readonly rows: Readonly<Record<string, Row>>;
}

/** Values of a row, one for each round. */
export type Seen = Readonly<Record<string, readonly number[]>>;

export function readFloors(): Floors {
  return JSON.parse(readFileSync(new URL('floor.json', import.meta.url), 'utf8')) as Floors;
}

/** Returns one line for each row that is worse than its floor, or that has none. Pure. */
export function regressions({ rows, tolerance }: Floors, seen: Seen): readonly string[] {
  return Object.entries(seen).flatMap(([id, values]) => {
    const row = rows[id];
    if (row === undefined) return [`${id}: no row. Next: add it to bench/floor.json.`];
    const bound = row.floor ?? row.goal;
    const { median } = spread(values);
    if (bound === undefined || (values.length > 0 && isWithin(row, median, bound, tolerance))) return [];
    const part = id.split('.')[0];
    const sign = row.better === 'more' ? '≥' : '≤';
    return [
      `${id} (${row.title}): floor ${sign} ${figure(bound, row.unit)}, seen ${values.length === 0 ? 'nothing' : figure(median, row.unit)}. ` +
        `Next: find the commit with \`git bisect run npm run bench -- ${part} --check\`, or loosen the floor in bench/floor.json in a commit that says why.`,
    ];
  });
}

/** Returns whether a value reaches the goal of its row; undefined where there is no goal or no value. Pure. */
export function isMet(row: Row, values: readonly number[]): boolean | undefined {
  if (row.goal === undefined || values.length === 0) return undefined;
  return isWithin(row, spread(values).median, row.goal, 0);
}

function isWithin({ better }: Row, value: number, bound: number, tolerance: number): boolean {
  return better === 'more' ? value >= bound * (1 - tolerance) : value <= bound * (1 + tolerance);
}

/** A number with its unit, in three digits. Pure. */
export function figure(value: number, unit: string): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.01))));
  return `${value.toFixed(Math.min(digits, 2))}${unit === '×' ? '' : ' '}${unit}`.trim();
}
