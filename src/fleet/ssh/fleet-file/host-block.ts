import { SSHConfig } from 'ssh-config';

import { defined } from '../../../shared/base/defined.ts';
import { parseHop } from '../../../shared/base/notation/hop.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { describeConnection } from '../config/describe.ts';
import { hostOfHop } from '../config/hop-target.ts';
import type { OwnFiles } from '../config/own-include.ts';
import type { Target } from '../transport.ts';
import { directive, inOrder, type Value } from './spelling.ts';

/** How a host is reached, option by option, in the words of `ssh -G`. */
export type Way = Readonly<Record<string, Value>>;

/**
 * What `ssh NAME` is to use: what our own connection does; pinned keys are in a file of ours, and jump hosts of the
 * inventory go by the name that they have there. Pure.
 */
export function wayOf(options: ConnectionOptions, { keys }: OwnFiles, hosts: readonly Target[]): Way {
  const { from: _from, ...way } = describeConnection(options);
  const jump = options.jump.map((hop) => byName(hop, hosts));
  return {
    ...(way as Way),
    ...(jump.length === 0 ? {} : { proxyjump: jump.join(',') }),
    ...(options.pinned.length === 0
      ? {}
      : {
          userknownhostsfile: [keys],
          globalknownhostsfile: ['none'],
          hostkeyalias: aliasOf(options.name),
        }),
  };
}

function byName(text: string, hosts: readonly Target[]): string {
  const hop = parseHop(text);
  const name = hop && hostOfHop(hop, hosts)?.name;
  if (name === undefined) return text;
  return `${hop?.user === undefined ? '' : `${hop.user}@`}${name}${hop?.port === undefined ? '' : `:${hop.port}`}`;
}

/** The name under which a host's pinned keys are filed: ssh looks for it in lower case. */
export function aliasOf(name: string): string {
  return name.toLowerCase();
}

/** Options that two ways do not have alike. Pure. */
export function differing(one: Way, other: Way): readonly string[] {
  const options = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...options].filter((option) => JSON.stringify(one[option]) !== JSON.stringify(other[option]));
}

/**
 * A host's block for the package `ssh-config`: what the inventory says, in its own words, what it pins, and what
 * `also` names. Pure. Throws `ssh.config` where a value cannot be written.
 */
export function hostBlock(
  name: string,
  spec: SshSpec,
  way: Way,
  also: readonly string[],
): Record<string, string | string[]> {
  const said: Way = defined({
    hostname: spec.address,
    port: spec.port,
    user: spec.user,
    identityfile: spec.identityFile,
  });
  const pinned = spec.hostKeys.length > 0 ? pinOptions : [];
  const strict = spec.hostKeyPolicy === 'strict' ? ['stricthostkeychecking'] : [];
  const jump = spec.jump === undefined ? [] : ['proxyjump'];
  const named = new Set([...pinned, ...strict, ...jump, ...also]);
  const lines = inOrder.map((option) => {
    if (named.has(option)) return directive(name, option, way[option]);
    const value = said[option];
    return value === undefined ? undefined : directive(name, option, value, ownText.has(option));
  });
  return { Host: name, ...Object.fromEntries(lines.filter((line) => line !== undefined)) };
}

const pinOptions = ['userknownhostsfile', 'globalknownhostsfile', 'hostkeyalias', 'stricthostkeychecking'];
/** Tokens of theirs mean the same in a file as in an argument of ssh. */
const ownText = new Set(['identityfile']);

/** The whole file. `source`: what stands in its first line. Pure. */
export function fileText(source: string, blocks: readonly Record<string, string | string[]>[]): string {
  const config = new SSHConfig();
  for (const block of blocks) config.append(block);
  return `${source}${config.toString()}`;
}
