import type { MatchWorld, RawOptions } from './outside.ts';
import type { ConfigLine } from './parse.ts';
import { matchList } from './pattern.ts';
import { expandTokens, type Tokens, tokensFor } from './tokens.ts';

export interface MatchState {
  readonly original: string;
  readonly host: string;
  readonly final: boolean;
  readonly options: RawOptions;
}

/** Whether a Match line applies, and whether it asks for the second reading of the files. */
export function matches(
  line: ConfigLine,
  state: MatchState,
  world: MatchWorld,
): { readonly matched: boolean; readonly wantsFinal: boolean } {
  let matched = true;
  let wantsFinal = false;
  const args = criteria(line.args);
  while (args.length > 0) {
    const word = args.shift() ?? '';
    const negated = word.startsWith('!');
    const name = word.slice(negated ? 1 : 0).toLowerCase();
    let holds: boolean;
    if (name === 'all') holds = true;
    else if (name === 'final' || name === 'canonical') {
      wantsFinal ||= name === 'final';
      holds = state.final;
    } else {
      const value = args.shift() ?? '';
      holds = matched && criterion(name, value, state, world);
    }
    if (holds === negated) matched = false;
  }
  return { matched, wantsFinal };
}

/** `host=x` is the same as `host x`. */
function criteria(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const parts = /^(!?(?:host|originalhost|user|localuser|exec|tagged|localnetwork|version))=(.*)$/i.exec(
      arg,
    );
    return parts === null || index % 2 === 1 ? [arg] : [parts[1] ?? '', parts[2] ?? ''];
  });
}

function criterion(name: string, value: string, state: MatchState, world: MatchWorld): boolean {
  const { options } = state;
  const list = value.split(',');
  const hostname = options.get('hostname')?.[0]?.args[0];
  const tokens: Tokens = tokensFor(state.original, state.host, options, world);
  if (name === 'host') {
    const text = hostname === undefined ? state.host : expandTokens(hostname, { h: state.host });
    return matchList(
      text.toLowerCase(),
      list.map((pattern) => pattern.toLowerCase()),
    );
  }
  if (name === 'originalhost') {
    return matchList(
      state.original.toLowerCase(),
      list.map((pattern) => pattern.toLowerCase()),
    );
  }
  if (name === 'user') return matchList(options.get('user')?.[0]?.args[0] ?? world.user, list);
  if (name === 'localuser') return matchList(world.user, list);
  if (name === 'tagged') return matchList(options.get('tag')?.[0]?.args[0] ?? '', list);
  if (name === 'exec') return world.execute(expandTokens(value, tokens)) === 0;
  return false;
}
