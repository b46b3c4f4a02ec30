import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import type { LabHost } from '../../../practice/lab/host.ts';

/** Returns the forms in which a secret may be written: plain, and in base64, also inside a longer encoded text. */
export function forms(secret: string): string[] {
  return [secret, ...[0, 1, 2].map((before) => inBase64(secret, before))];
}

/** Returns the base64 of the secret after `before` other bytes, without the characters that depend on its neighbours. */
function inBase64(secret: string, before: number): string {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((whole.length * 8) / 6);
  return whole.toString('base64').slice(from, to);
}

/**
 * Returns where a host shows the secret: arguments and environments of all processes, docker inspect, the journal, and
 * every file, with its mode. It reads as root, so it misses nothing; the mode shows what only root can read.
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

/** Returns the files below a folder of this machine that contain the secret, with their modes. */
export function filesWith(folder: string, secret: string): string[] {
  const needles = forms(secret);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => needles.some((needle) => readFileSync(file).includes(needle)))
    .map((file) => `${file} ${(statSync(file).mode & 0o777).toString(8)}`);
}

/**
 * Watches all processes of this machine while `work` runs, including those of the lab's hosts and their containers.
 * Returns each whose arguments or environment contain the secret, as `program: part`.
 */
export async function processesDuring(secret: string, work: () => Promise<void>): Promise<string[]> {
  const needles = forms(secret);
  const seen = new Set<string>();
  const check = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      for (const part of partsWith(pid, needles)) seen.add(`${nameOf(pid)}: ${part}`);
  };
  const watch = setInterval(check, 200);
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
 * Returns the processes from `pid` down whose arguments or environment contain the secret. A fork that has not called
 * exec yet counts as `pid` itself: it has the same arguments and environment.
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
