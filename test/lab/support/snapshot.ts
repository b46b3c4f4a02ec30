import { readFileSync } from 'node:fs';

import type { LabHost } from '../../../practice/lab/host.ts';

/** Path or container → what it is: kind, mode, owner, size, time of change, link target. */
export type Snapshot = ReadonlyMap<string, string>;

const list = `find / /var/lib/docker -xdev -not -path '/proc/*' -printf '%p\\t%y %m %U:%G %s %T@ %l\\n'
if command -v docker >/dev/null; then docker ps -a --no-trunc --format '{{"docker ps: "}}{{.Names}}{{"\\t"}}{{.ID}} {{.Image}}'; fi`;

/** Everything on the host's disk, and its containers. Files on a tmpfs are left out. */
export async function snapshot(host: LabHost): Promise<Snapshot> {
  const { stdout } = await host.exec(list, { allowFailure: true });
  return new Map(
    stdout.split('\n').map((line) => {
      const tab = line.indexOf('\t');
      return [line.slice(0, tab), line.slice(tab + 1)];
    }),
  );
}

/** What differs and is not in the list of what may. */
export function differences(before: Snapshot, after: Snapshot, allowed: readonly RegExp[]): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names]
    .filter((name) => before.get(name) !== after.get(name) && !allowed.some((rule) => rule.test(name)))
    .map((name) => `${name}: ${before.get(name) ?? 'nothing'} → ${after.get(name) ?? 'nothing'}`);
}

/** The rules of an allow-list: a regular expression a line, its reason after ` # `. A rule without a reason is an error. */
export function allowList(name: string): RegExp[] {
  const file = new URL(name, import.meta.url);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [rule = '', reason = ''] = line.split(' # ');
      if (reason.trim().length < 10) throw new Error(`no reason for ${rule} in ${name}`);
      return new RegExp(`^${rule.trim()}$`);
    });
}
