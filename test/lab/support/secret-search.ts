import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import type { LabHost } from '../../../practice/lab/host.ts';

/** A secret as it may be written: plain, and in base64, also in the midst of a header or a file that is. */
export function forms(secret: string): string[] {
  return [secret, ...[0, 1, 2].map((before) => inBase64(secret, before))];
}

/** What base64 makes of it, wherever it stands behind so many bytes: without what depends on its neighbours. */
function inBase64(secret: string, before: number): string {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((whole.length * 8) / 6);
  return whole.toString('base64').slice(from, to);
}

/**
 * Where a host shows the secret: arguments and environments of all processes, docker inspect, the journal, and every
 * file, with its mode. Reading is root's, so nothing is missed; the mode shows what only root can read.
 */
export async function placesOnHost(host: LabHost, secret: string): Promise<string[]> {
  const script = `cat >/run/needles
for folder in /proc/[0-9]*; do
  for part in cmdline environ; do
    if tr '\\0' '\\n' <"$folder/$part" 2>/dev/null | grep -qFf /run/needles; then echo "process $(cat "$folder/comm"): $part"; fi
  done
done
docker ps -aq | xargs -r docker inspect | grep -qFf /run/needles && echo 'docker inspect'
docker image ls -q | sort -u | xargs -r docker image inspect | grep -qFf /run/needles && echo 'docker image inspect'
docker image ls -q | sort -u | while read -r image; do docker history --no-trunc "$image" | grep -qFf /run/needles && echo 'docker history'; done
journalctl --no-pager -o verbose | grep -qFf /run/needles && echo journal
systemctl show '*' | grep -qFf /run/needles && echo 'systemctl show'
find / /run /tmp /dev/shm /var/lib/docker -xdev -type f -not -path '/proc/*' -not -path '/sys/*' -not -path /run/needles -size -64M -print0 |
  xargs -0 -r grep -lFf /run/needles 2>/dev/null | while read -r file; do stat -c 'file %n %a %U' "$file"; done | sort -u
rm -f /run/needles`;
  const { stdout } = await host.exec(script, { input: `${forms(secret).join('\n')}\n`, allowFailure: true });
  return stdout.split('\n').filter((line) => line !== '');
}

/** Files below a folder of this machine that hold the secret, with their modes. */
export function filesWith(folder: string, secret: string): string[] {
  const needles = forms(secret);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => needles.some((needle) => readFileSync(file).includes(needle)))
    .map((file) => `${file} ${(statSync(file).mode & 0o777).toString(8)}`);
}

/**
 * Looks at all processes of this machine while `work` continues, those of the lab's hosts and their containers among them:
 * whose arguments or environment hold the secret, `program: part`.
 */
export async function processesDuring(secret: string, work: () => Promise<void>): Promise<string[]> {
  const needles = forms(secret);
  const seen = new Set<string>();
  const look = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      for (const part of partsWith(pid, needles)) seen.add(`${nameOf(pid)}: ${part}`);
  };
  const watch = setInterval(look, 200);
  await work().finally(() => clearInterval(watch));
  return [...seen];
}

function partsWith(pid: number | string, needles: readonly string[]): string[] {
  return ['cmdline', 'environ'].filter((part) => {
    try {
      const content = readFileSync(`/proc/${pid}/${part}`);
      return needles.some((needle) => content.includes(needle));
    } catch {
      return false;
    }
  });
}

function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return pid;
  }
}

/**
 * The processes below `pid` (and it) whose arguments or environment hold the secret. One that was forked and has not
 * become another program yet is `pid` itself: its arguments and environment are that one's.
 */
export function processesWith(pid: number, secret: string): string[] {
  const needles = forms(secret);
  const children = descendants(pid).filter((child) => argumentsOf(child) !== argumentsOf(pid));
  return [pid, ...children].flatMap((each) =>
    partsWith(each, needles).map((part) => `${part} of ${each === pid ? 'azp-fleet' : 'a child'}`),
  );
}

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function descendants(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter(Boolean)
      .map(Number);
    return children.flatMap((child) => [child, ...descendants(child)]);
  } catch {
    return [];
  }
}
