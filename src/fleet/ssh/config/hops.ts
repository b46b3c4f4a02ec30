import { usageError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { hopExpected, hopsIn, parseHop } from '../../../shared/base/notation/hop.ts';

/** The hops of a chain in the order they are passed, as written: `user@host:port`. Throws when one is none. */
export function chainOf(jump: string, name: string): readonly string[] {
  const hops = hopsIn(jump);
  const wrong = hops.find((hop) => parseHop(hop) === undefined);
  if (wrong === undefined) return hops;
  throw usageError({
    code: 'ssh.config',
    host: name,
    step: 'connect',
    what: `${JSON.stringify(foreignLine(wrong, 80))} is not a jump host`,
    expected: hopExpected,
    next: 'correct jump: in the inventory, or ProxyJump in the SSH configuration',
  });
}
