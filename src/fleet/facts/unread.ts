import type { Problem } from '../../shared/base/errors.ts';
import type { Facts, UnknownFact } from './facts.ts';
import { probes } from './parse.ts';
import type { FactProbe } from './probe.ts';

/** A step read facts that are unknown. */
export class UnreadFact extends Error {
  readonly facts: readonly UnknownFact[];

  constructor(facts: readonly UnknownFact[]) {
    super(unreadLine(facts));
    this.facts = facts;
  }
}

/** Returns the facts for decisions: what is unknown throws `UnreadFact` when it is read. Pure. */
export function withoutUnread(facts: Facts): Facts {
  const view = { ...facts };
  for (const key of Object.keys(facts).filter(isFact)) {
    const unread = unreadOf(facts, key);
    if (unread.length === 0) continue;
    const get = (): never => {
      throw new UnreadFact(unread);
    };
    Object.defineProperty(view, key, { get, enumerable: true });
  }
  return view;
}

function isFact(key: string): key is keyof Facts {
  return key !== 'unknown';
}

/** Returns what is unknown of these facts. Pure. */
export function unreadOf(
  { unknown }: Pick<Facts, 'unknown'>,
  ...keys: readonly (keyof Facts)[]
): readonly UnknownFact[] {
  return unknown.filter(({ fact }) => probeOf(fact)?.facts.some((each) => keys.includes(each)));
}

/** Formats `facts incomplete: docker-info (no answer in 8 s)`. */
export function unreadLine(unknown: readonly UnknownFact[]): string {
  return `facts incomplete: ${unknown.map(({ fact, why }) => `${fact} (${why})`).join(', ')}`;
}

/**
 * Returns why a host is not changed, and the next action. `otherwise`: what makes the command go on without these facts. Pure.
 */
export function unreadObstacle(
  unknown: readonly UnknownFact[],
  otherwise?: string,
): { readonly what: string; readonly next: string } {
  const meanings = unknown.flatMap(({ fact }) => probeOf(fact)?.meaning ?? []);
  const next = [...meanings.map((each) => each.next), unreadNext(unknown)].join('; ');
  return {
    what: [...meanings.map((each) => each.what), unreadLine(unknown)].join('; '),
    next: otherwise === undefined ? next : `${next}, or ${otherwise}`,
  };
}

/** Returns the problem of a host about which nothing can be said without these facts. */
export function unreadProblem(host: string, unknown: readonly UnknownFact[]): Problem {
  return {
    code: 'facts.incomplete',
    host,
    step: 'facts',
    what: unreadLine(unknown),
    next: unreadNext(unknown),
  };
}

/** Returns the next action: the commands that show why. */
export function unreadNext(unknown: readonly UnknownFact[]): string {
  const commands = new Set(unknown.flatMap(({ fact }) => probeOf(fact)?.byHand ?? []));
  return `find out why on the host: ${[...commands].join('; ')}; then run again`;
}

function probeOf(fact: string): FactProbe<unknown> | undefined {
  return probes.find(({ name }) => name === fact);
}
