import { createHash } from 'node:crypto';
import { posix } from 'node:path';

import type { MatchWorld, RawOptions } from './outside.ts';

/** `%x` → text. */
export type Tokens = Readonly<Record<string, string>>;

/** Replaces `%x`; an unknown token stays, `%%` is a percent sign. */
export function expandTokens(text: string, tokens: Tokens): string {
  return text.replaceAll(/%(.)/g, (whole, letter: string) =>
    letter === '%' ? '%' : (tokens[letter] ?? whole),
  );
}

/** `~`, `~/x` and `${VAR}` as OpenSSH expands them in file options. */
export function expandPath(
  text: string,
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const withEnv = text.replaceAll(/\$\{([^}]+)\}/g, (_whole, name: string) => env[name] ?? '');
  return withEnv === '~' || withEnv.startsWith('~/') ? posix.join(home, withEnv.slice(1)) : withEnv;
}

/** The tokens of ssh_config(5) for a host as far as the options are known. */
export function tokensFor(original: string, host: string, options: RawOptions, world: MatchWorld): Tokens {
  const first = (key: string): string | undefined => options.get(key)?.[0]?.args[0];
  const hostname = expandTokens(first('hostname') ?? host, { h: host });
  const port = first('port') ?? '22';
  const user = first('user') ?? world.user;
  const jump = first('proxyjump') ?? '';
  const jumpHost = jump === 'none' ? '' : jump;
  return {
    h: hostname,
    n: original,
    p: port,
    r: user,
    u: world.user,
    i: String(world.uid),
    d: world.home,
    l: world.localHost,
    L: world.localHost.split('.')[0] ?? '',
    j: jumpHost,
    k: first('hostkeyalias') ?? original,
    C: createHash('sha1').update(`${world.localHost}${hostname}${port}${user}${jumpHost}`).digest('hex'),
  };
}
