import type { Problem } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { troubleOf } from '../../../shared/base/host-trouble.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { plainSpec } from '../config/from-inventory.ts';
import type { OwnFiles } from '../config/own-include.ts';
import type { SshResolver } from '../config/resolver.ts';
import type { StandIn } from '../config/stand-in.ts';
import type { JumpHost } from '../config/way.ts';
import { pinnedLines } from '../host-keys/pins.ts';
import type { Target } from '../transport.ts';
import { aliasOf, differing, fileText, hostBlock, type Way, wayOf } from './host-block.ts';
import { hopBlocks, withJumpHosts } from './jump-hosts.ts';

export interface FleetFile {
  readonly hosts: readonly HostInFile[];
  /** What ssh is to read. */
  readonly text: string;
  /** The pinned keys as a known_hosts file; empty: nothing is pinned. */
  readonly keys: string;
}

export type HostInFile =
  | {
      readonly host: string;
      /** Options that ssh will use beside what azp-fleet does, whatever is written: its own configuration adds to them. */
      readonly added: readonly string[];
    }
  | { readonly host: string; readonly problem: Problem };

interface Parts {
  readonly files: OwnFiles;
  /** The inventory that it is made of. */
  readonly inventory: string;
  readonly resolver: SshResolver;
  readonly standIn: StandIn;
  readonly log: Logger;
}

/** How a file begins that we may replace. */
export const ownMark = '# Written by azp-fleet ssh-config';

/** The first line of a file of ours. Text of a person, on one line. */
export function firstLine(inventory: string): string {
  return `${ownMark} out of ${foreignLine(JSON.stringify(inventory))}; the next --write replaces it\n`;
}

interface Host {
  readonly target: Target;
  readonly way: Way;
  readonly jumps: readonly JumpHost[];
  readonly keys: string;
}

/**
 * The hosts as ssh is to know them: each reached by its name as we reach it, which is asked of `ssh -G` with the file as it
 * will be. What the inventory says is written; beyond it only what the user's own configuration would make otherwise for
 * this name. `all`: jump hosts are found among them. One host's trouble is its own.
 */
export async function composeFleetFile(
  chosen: readonly Target[],
  all: readonly Target[],
  parts: Parts,
): Promise<FleetFile> {
  const { standIn, resolver, files } = parts;
  const base = standIn.file();
  const problems = new Map<string, Problem>();
  const note = (host: string, error: unknown): undefined => {
    problems.set(host, troubleOf(host, error, parts.log));
  };
  const targets = withJumpHosts(chosen, all);
  const known = await each(targets, note, async (target): Promise<Host> => {
    const { name, ssh } = target;
    const sshConfig = ssh.sshConfig ?? base;
    const options = await resolver.resolve(name, sshConfig === undefined ? ssh : { ...ssh, sshConfig });
    const jumps = await resolver.wayTo(options);
    return { target, way: wayOf(options, files, all), jumps, keys: keysOf(options) };
  });
  const textOf = (also: ReadonlyMap<string, readonly string[]>): string => {
    const blocks = known.map(({ target: { name, ssh }, way }) => {
      try {
        return problems.has(name) ? undefined : hostBlock(name, ssh, way, also.get(name) ?? []);
      } catch (error) {
        return note(name, error);
      }
    });
    const hops = hopBlocks(known.map(({ jumps }) => jumps));
    return fileText(firstLine(parts.inventory), [...blocks.filter((block) => block !== undefined), ...hops]);
  };
  const differences = async (
    text: string,
    among: readonly Host[],
  ): Promise<Map<string, readonly string[]>> => {
    const sshConfig = standIn.file(text);
    const found = await each(among, note, async ({ target, way }) => {
      const seen = await resolver.resolve(target.name, plainSpec(sshConfig));
      return [target.name, differing(way, wayOf(seen, files, all))] as const;
    });
    return new Map(found.filter(([, options]) => options.length > 0));
  };
  const first = await differences(textOf(new Map()), known);
  const changed = known.filter(({ target }) => first.has(target.name));
  const added = await differences(textOf(first), changed);
  return {
    text: textOf(first),
    keys: known.flatMap(({ target, keys }) => (problems.has(target.name) ? [] : keys)).join(''),
    hosts: targets.map(({ name: host }) => {
      const problem = problems.get(host);
      return problem === undefined ? { host, added: added.get(host) ?? [] } : { host, problem };
    }),
  };
}

function keysOf(options: ConnectionOptions): string {
  return pinnedLines(options, aliasOf(options.name), 'ssh');
}

/** What becomes of each; those that fail are noted and left out. */
async function each<From extends Target | Host, To>(
  items: readonly From[],
  note: (host: string, error: unknown) => void,
  work: (item: From) => Promise<To>,
): Promise<readonly To[]> {
  const done = await Promise.all(
    items.map(async (item): Promise<readonly To[]> => {
      try {
        return [await work(item)];
      } catch (error) {
        note('target' in item ? item.target.name : item.name, error);
        return [];
      }
    }),
  );
  return done.flat();
}
