import { createHash } from 'node:crypto';
import { posix } from 'node:path';

/** `%x` → text. */
export type Tokens = Readonly<Record<string, string>>;

/** This machine and its user, as tokens and paths need them. */
export interface Local {
  readonly home: string;
  /** The invoking user. */
  readonly user: string;
  readonly uid: number;
  /** This machine's name, as `hostname` prints it. */
  readonly host: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What of a connection the tokens tell. */
interface Told {
  readonly typed: string;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly alias: string | undefined;
  readonly jump: string;
}

/** Replaces `%x`, and `%%` by a percent sign. Undefined, as ssh fails, when there is no such token. */
export function expandTokens(text: string, tokens: Tokens): string | undefined {
  let unknown = false;
  const expanded = text.replaceAll(/%(.?)/gs, (_whole, letter: string) => {
    if (letter === '%') return '%';
    unknown ||= tokens[letter] === undefined;
    return tokens[letter] ?? '';
  });
  return unknown ? undefined : expanded;
}

/** `~` and `~/x`. */
export function expandHome(text: string, home: string): string {
  return text === '~' || text.startsWith('~/') ? posix.join(home, text.slice(1)) : text;
}

/** `~`, `%x` and `${VAR}`. Undefined, as ssh fails, when a token or a variable is unknown. */
export function expandFile(text: string, tokens: Tokens, { home, env }: Local): string | undefined {
  let unset = false;
  const expanded = expandTokens(expandHome(text, home), tokens);
  const filled = expanded?.replaceAll(/\$\{([^}]*)\}/g, (_whole, name: string) => {
    unset ||= env[name] === undefined;
    return env[name] ?? '';
  });
  return unset ? undefined : filled;
}

/** The tokens of ssh_config(5) that files may hold. */
export function fileTokens(told: Told, local: Local): Tokens {
  const { hostname, port, user, jump, typed, alias } = told;
  return {
    ...commandTokens(told),
    u: local.user,
    i: String(local.uid),
    d: local.home,
    l: local.host,
    L: local.host.split('.')[0] ?? '',
    j: jump,
    k: alias ?? typed,
    C: createHash('sha1').update(`${local.host}${hostname}${port}${user}${jump}`).digest('hex'),
  };
}

/** Those that ProxyCommand and ProxyJump may hold. */
export function commandTokens({ typed, hostname, port, user, alias }: Told): Tokens {
  return { h: hostname, n: typed, p: String(port), r: user, k: alias ?? typed };
}
