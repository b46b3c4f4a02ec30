import { isObject } from '../base/objects.ts';

/** One JSON object of the engine. */
export type Answer = Readonly<Record<string, unknown>>;

/**
 * Reads the engine's answers: a value that is missing, or has another type, is empty. Values that identify an object, or
 * that a decision rests on, are read with `needed…`, which throws; within `bounded` that is an error of the engine.
 */
export function answer(value: unknown): Answer {
  return isObject(value) ? value : {};
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function textsByName(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(answer(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

export function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns the name of a listed container; the engine writes `/name`. */
export function containerName({ Names: names }: Answer): string {
  return (texts(names)[0] ?? '').replace(/^\//, '');
}

export function neededList(value: unknown): readonly Answer[] {
  if (!Array.isArray(value) || !value.every(isObject)) throw new TypeError('the answer is not a list');
  return value;
}

export function neededText(of: Answer, key: string): string {
  const value = of[key];
  if (typeof value !== 'string') throw new TypeError(`the answer has no ${key}`);
  return value;
}

export function neededNumber(of: Answer, key: string): number {
  const value = of[key];
  if (typeof value !== 'number') throw new TypeError(`the answer has no ${key}`);
  return value;
}

export function neededFlag(of: Answer, key: string): boolean {
  const value = of[key];
  if (typeof value !== 'boolean') throw new TypeError(`the answer has no ${key}`);
  return value;
}
