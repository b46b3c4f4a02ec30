import { usageError } from '../../base/errors.ts';
import { foreignLine } from '../../base/foreign-text.ts';
import { isHostName, isUserName } from './names.ts';

/** One host of a ProxyJump chain. */
export interface Hop {
  readonly host: string;
  readonly user?: string;
  readonly port?: number;
}

/** The hops of a chain in the order they are passed, as written: `user@host:port`. Throws when one is none. */
export function chainOf(jump: string, name: string): readonly string[] {
  if (jump === '' || jump.toLowerCase() === 'none') return [];
  const hops = jump.split(',').map((hop) => hop.trim().replace(/^ssh:\/\/([^/]*)\/?$/, '$1'));
  const wrong = hops.find((hop) => parseHop(hop) === undefined);
  if (wrong === undefined) return hops;
  throw usageError({
    code: 'ssh.config',
    host: name,
    step: 'connect',
    what: `${JSON.stringify(foreignLine(wrong, 80))} is not a jump host`,
    expected: 'user@host:port, where user and port may be left out, and an IPv6 address stands in brackets',
    next: 'correct jump: in the inventory, or ProxyJump in the SSH configuration',
  });
}

/** Undefined: not a hop as ssh takes it. A user's name may hold an `@` (`ann@LAB.EXAMPLE@gate`): the last one counts. */
export function parseHop(text: string): Hop | undefined {
  const at = text.lastIndexOf('@');
  const user = at === -1 ? undefined : text.slice(0, at);
  const [, bracketed, plain = '', port] =
    /^(?:\[([^\]]+)\]|([^:[\]/]+))(?::(\d{1,5}))?$/.exec(text.slice(at + 1)) ?? [];
  const host = bracketed ?? plain;
  if (!isHostName(host) || (user !== undefined && !isUserName(user))) return undefined;
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && (number < 1 || number > 65_535)) return undefined;
  return { host, ...(user === undefined ? {} : { user }), ...(number === undefined ? {} : { port: number }) };
}
