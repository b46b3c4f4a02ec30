import { readFileSync } from 'node:fs';
import path from 'node:path';

import type { Context } from '../../../shared/base/context.ts';
import { isHostName } from '../../../shared/base/jump-chain.ts';
import { parseKnownHosts } from '../../../fleet/ssh/connect/known-hosts.ts';

/** The machines that somebody has logged in to, as typed words: `name`, `name:2222`. Hashed names and patterns are nobody's. */
export function knownHosts({ home }: Pick<Context, 'home'>): string[] {
  const lines = parseKnownHosts(readText(path.join(home, '.ssh', 'known_hosts')), 'known_hosts');
  const words = lines.flatMap(({ marker, names: [first = ''] }) =>
    marker === undefined ? wordFor(first) : [],
  );
  return [...new Set(words)];
}

/** The first name of a line alone: those behind it are its addresses. */
function wordFor(name: string): string[] {
  if (/^\||[*?!]/.test(name)) return [];
  const [, inner, port] = /^\[([^\]]+)\]:(\d+)$/.exec(name) ?? [];
  const host = inner ?? name;
  if (!isHostName(host) || forges.test(host)) return [];
  const address = host.includes(':') ? `[${host}]` : host;
  return [port === undefined ? address : `${address}:${port}`];
}

/** Machines that are in many configurations and never a GPU host. */
export const forges =
  /^(ssh\.)?(github|gitlab|bitbucket|codeberg|dev\.azure|vs-ssh\.visualstudio)\.(com|org)$/;

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // What cannot be read names nobody.
    return '';
  }
}
