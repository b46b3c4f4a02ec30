import type { Problem } from '../../../shared/base/errors.ts';
import { namesInShort } from '../fold-names.ts';
import { dotted, type Path } from './path.ts';

/** A mistake before it is put into words: what stands at `path` (its name: `named`) is so. */
export interface Mistake extends Pick<Problem, 'code' | 'expected' | 'seen' | 'next'> {
  readonly place: string;
  readonly path: Path;
  /** `hosts.a.port`; also what is wrong is said of. */
  readonly named: string;
  /** What follows the name: `is not a known key`. */
  readonly says: string;
}

/** Mistakes as problems: one that several hosts share once, at the first of them, with the others' names. Pure. */
export function problemsOnce(mistakes: readonly Mistake[]): Problem[] {
  const same = Map.groupBy(mistakes, signature);
  return [...same.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { place, path: _path, named, says, ...rest } = first;
    const others = more.flatMap(({ path }) => hostOf(path) ?? []);
    return [{ step: 'inventory', ...rest, what: `${place}: ${named} ${says}${asWell(others)}` }];
  });
}

/** ` (as well: b, c)`; nothing for nobody. */
export function asWell(hosts: readonly string[]): string {
  return hosts.length === 0 ? '' : ` (as well: ${namesInShort(hosts)})`;
}

function signature({ place, ...said }: Mistake): string {
  const host = hostOf(said.path);
  if (host === undefined) return JSON.stringify([place, said]);
  const own = JSON.stringify(said.path.slice(2));
  const words = [said.code, said.named, said.says, said.expected, said.seen, said.next];
  return own + JSON.stringify(words).replaceAll(dotted(['hosts', host]), 'hosts.{host}');
}

function hostOf([top, host]: Path): string | undefined {
  return top === 'hosts' && host !== undefined ? String(host) : undefined;
}
