import type { XmlElement } from './xml.ts';

const absent =
  /^(?:\[?(?:N\/A|Not Supported|Not Available|Requested functionality has been deprecated|Insufficient Permissions)\]?)?$/i;
/** Characters kept of a value; real values have a few dozen, and the output of a host is not trusted. */
const longest = 200;
const failed = /unknown error|^\[?ERR!?\]?$|gpu is lost|requires reset/i;

/** Cuts a value of a host at 200 characters. */
export function bounded(said: string): string {
  return said.slice(0, longest);
}

/** True for a value that nvidia-smi does not have, as opposed to one that reports a failed GPU. */
function isAbsent(value: string): boolean {
  return absent.test(value);
}

/** True for a value that reports an error of the GPU. */
function isFailure(value: string): boolean {
  return failed.test(value);
}

/** Returns the error that an element has instead of its value. */
export function failureToken({ text: value }: XmlElement): string | undefined {
  return isFailure(value) ? bounded(value) : undefined;
}

/** Follows a path of element names. */
export function find(element: XmlElement, path: string): XmlElement | undefined {
  let current: XmlElement | undefined = element;
  for (const name of path.split('.')) current = current?.children.find((child) => child.name === name);
  return current;
}

/**
 * Returns the text at the first path that has one, at most 200 characters; undefined when the element is missing, absent or failed.
 */
export function text(element: XmlElement, ...paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const value = find(element, path)?.text;
    if (value !== undefined && !isAbsent(value) && !isFailure(value)) return bounded(value);
  }
  return undefined;
}

/** Returns an attribute, at most 200 characters. */
export function attribute(element: XmlElement, name: string): string | undefined {
  const value = element.attributes[name];
  return value === undefined ? undefined : bounded(value);
}

/** Returns the leading number of a value such as `81920 MiB`, `-8 C`, `16x` or `P0`. */
export function number(element: XmlElement, ...paths: readonly string[]): number | undefined {
  const match = /^P?(-?\d+(?:\.\d+)?)/.exec(text(element, ...paths) ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Reads Yes/No, Enabled/Disabled, Active/Not Active, 1/0. Other text is undefined. */
export function flag(element: XmlElement, ...paths: readonly string[]): boolean | undefined {
  const value = text(element, ...paths)?.toLowerCase();
  if (value === undefined) return undefined;
  if (['yes', 'enabled', 'active', '1'].includes(value)) return true;
  return ['no', 'disabled', 'not active', '0'].includes(value) ? false : undefined;
}

/** Adds up the known values; undefined when none is known. */
export function sum(element: XmlElement, ...paths: readonly string[]): number | undefined {
  const values = paths.map((path) => number(element, path)).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0);
}
