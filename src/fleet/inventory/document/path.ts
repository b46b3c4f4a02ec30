import { excerpt } from '../../../shared/base/foreign-text.ts';

/** Keys and indices, from the outermost on. */
export type Path = readonly PropertyKey[];

/** How a path is named in messages. */
export function dotted(path: Path): string {
  return path.length === 0 ? 'the inventory' : excerpt(path.map(String).join('.'));
}
