import { posix } from 'node:path';

import { SSHConfig } from 'ssh-config';

/** What of ~/.ssh is written by us for plain ssh. Absolute paths. */
export interface OwnFiles {
  /** The user's configuration, at whose top one Include of ours stands. */
  readonly config: string;
  /** The fleet's hosts. */
  readonly hosts: string;
  /** The keys that the inventory pins, as a known_hosts file. */
  readonly keys: string;
}

export function ownFiles(home: string): OwnFiles {
  const folder = posix.join(home, '.ssh');
  return {
    config: posix.join(folder, 'config'),
    hosts: posix.join(folder, 'azp-fleet.config'),
    keys: posix.join(folder, 'azp-fleet.known_hosts'),
  };
}

const words = '# The hosts of azp-fleet; "azp-fleet ssh-config --remove" takes these lines away\n';

/** `Include …`: the line without which ssh does not know our file. */
export function includeLine({ hosts }: OwnFiles): string {
  return new SSHConfig().append({ Include: escaped(hosts) }).toString();
}

/**
 * The configuration with our lines at its top, each byte of the rest as it was. They stand before all else: within a
 * block of Host an Include counts for that block alone, and of each option ssh takes the first value. A character of
 * `latin1` is a byte. Pure.
 */
export function withInclude(latin1: string, files: OwnFiles): string {
  return `${ourLines(files)}${withoutInclude(latin1, files)}`;
}

/** The same without them, wherever they stand, and whether or not somebody has touched what is around them. Pure. */
export function withoutInclude(latin1: string, files: OwnFiles): string {
  const all = ourLines(files);
  const line = inBytes(includeLine(files));
  return [all, words + line, line].reduce(cutLines, latin1);
}

function ourLines(files: OwnFiles): string {
  return `${words}${inBytes(includeLine(files))}\n`;
}

/** Without `ours` where it begins a line. */
function cutLines(text: string, ours: string): string {
  const rest = text.replaceAll(`\n${ours}`, '\n');
  return rest.startsWith(ours) ? rest.slice(ours.length) : rest;
}

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** A word as ssh reads it back; the quotes that blanks need are the package's to write. */
export function escaped(word: string): string {
  return word.replaceAll(/[\\"']/g, String.raw`\$&`);
}
