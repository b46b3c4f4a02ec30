import { quote } from '../../shared/base/shell.ts';
import { count, wrap } from './lines.ts';

/** A token that `token rotate --mint` created. */
export interface MintedToken {
  readonly name: string;
  /** ISO 8601; null: not known to this run. */
  readonly expires: string | null;
}

/** The token that a created one replaces, as far as the list of tokens shows it. */
export type EarlierToken =
  /** `known`: its expiry is that of the inventory. `candidates`: one of these, if the user of az created it. */
  | { readonly kind: 'known' | 'candidates'; readonly tokens: readonly MintedToken[] }
  | { readonly kind: 'unknown'; readonly why: string };
const nouns = { pat: 'token', 'service-principal': 'client secret', certificate: 'certificate' } as const;

/** Which hosts use the new token after a run, and what to revoke. */
export interface RotationEnd {
  readonly kind: keyof typeof nouns;
  /** Where the inventory takes the token from: `the file ./token`. */
  readonly source: string;
  /** The page that lists tokens, to revoke the earlier one. */
  readonly page: string;
  /** Number of hosts on which this run replaced the token. */
  readonly replaced: number;
  /** Number of hosts from which the server accepted it. */
  readonly proven: number;
  /** Hosts of the run that do not use it, or of which that is unknown. */
  readonly left: readonly string[];
  /** Hosts of the inventory that the run did not include. */
  readonly outside: readonly string[];
  /** The token that --mint created; null: none. */
  readonly minted: MintedToken | null;
  /** null: --mint was not used, so that tokens were not listed. */
  readonly earlier: EarlierToken | null;
  /** Copies of earlier tokens beside the token's file; removed where every host uses the new one. */
  readonly kept: readonly string[];
}

/** Longest list of hosts in a command, in characters; for more, the command is for all hosts. */
const longest = 400;

/** Returns the command that finishes the rotation; undefined: every host uses the token. Pure. */
export function finishing({ left, outside }: Pick<RotationEnd, 'left' | 'outside'>): string | undefined {
  const names = [...left, ...outside].map(quote).join(' ');
  if (names === '') return undefined;
  return names.length > longest ? 'azp-fleet token rotate' : `azp-fleet token rotate ${names}`;
}

/** Returns the end of the rotation for people. Pure. */
export function rotationText(end: RotationEnd, width: number): string {
  const lines = rotationLines(end).flatMap((line) => wrap(line, width, 0, 2));
  return `\n${lines.join('\n')}\n`;
}

function rotationLines(end: RotationEnd): readonly string[] {
  const { kind, source, page, replaced, proven, left, outside } = end;
  const noun = nouns[kind];
  const finish = finishing(end);
  if (finish === undefined && replaced === 0 && end.minted === null && end.kept.length === 0)
    return [
      `Azure DevOps accepts this ${noun} from ${count(proven, 'host')} already: nothing to replace.`,
      `To rotate, put a new ${noun} into ${source}, then run it again.`,
    ];
  const earlier = `the earlier ${noun}, which ${source} had before`;
  if (finish === undefined)
    return [
      `Azure DevOps has accepted the new ${noun} from every host of the inventory (${proven}).`,
      `Revoke ${earlier}: ${page}`,
      ...mintLines(end),
      ...end.kept.map((file) => `Removed the copy of the earlier token: ${file}`),
    ];
  const open = [
    ...(left.length === 0 ? [] : [`${count(left.length, 'host')} of this run`]),
    ...(outside.length === 0 ? [] : [`${count(outside.length, 'host')} outside it`]),
  ];
  return [
    `Azure DevOps has accepted the new ${noun} from ${count(proven, 'host')}, and not from ${open.join(' and ')}.`,
    `To finish: ${finish}`,
    `Then revoke ${earlier}: ${page}`,
    ...mintLines(end),
    ...end.kept.map((file) => `Kept until every host uses the new token: ${file}`),
  ];
}

/** Longest list of tokens. */
const mostTokens = 5;

function mintLines({ minted, earlier }: RotationEnd): readonly string[] {
  const names = earlier === null ? [] : [earlierLine(earlier)];
  if (minted?.expires === undefined || minted.expires === null) return names;
  return [...names, `In the inventory, set "expires" of the token: ${minted.expires.slice(0, 10)}`];
}

function earlierLine(earlier: EarlierToken): string {
  if (earlier.kind === 'unknown') return `The name of the earlier token is unknown: ${earlier.why}`;
  const shown = earlier.tokens
    .slice(0, mostTokens)
    .map(({ name, expires }) => `"${name}" (expires ${expires?.slice(0, 10) ?? 'at an unknown date'})`);
  const more = earlier.tokens.length - shown.length;
  const list = [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return earlier.kind === 'known'
    ? `The earlier token, by its expiry in the inventory: ${list}`
    : `The earlier token is one of these, if the user of az created it: ${list}`;
}
