// One contender of bench/ssh.ts in a separate process: `node ssh-client.ts NAME SETTING`. Prints one JSON line.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';
import ssh2 from 'ssh2';

import { systemClock } from '../src/shared/base/clock.ts';
import { FleetError } from '../src/shared/base/errors.ts';
import { silentLogger } from '../src/shared/base/log.ts';
import { Secret } from '../src/shared/base/secret.ts';
import { defaultUploads } from '../src/fleet/inventory/schema/defaults.ts';
import { createTransport } from '../src/fleet/ssh/create-transport.ts';

interface Setting {
  readonly folder: string;
  readonly script: string;
  readonly port: number;
  readonly user: string;
  readonly key: string;
  readonly concurrency: number;
}

const [, , name, json = '{}'] = process.argv;
const setting = JSON.parse(json) as Setting;
const hosts = readFileSync(join(setting.folder, 'hosts'), 'utf8').trim().split('\n');
const script = readFileSync(setting.script, 'utf8');
const key = readFileSync(setting.key);
const limit = pLimit(setting.concurrency);

const home = mkdtempSync(join(tmpdir(), 'azp-bench-home-'));
const sshConfig = join(home, 'config');
// A block for each host, as in a real configuration for so many hosts. One sshd serves all of them and is the slowest
// part: no client times out on it (ssh and pssh wait for ever as well).
const blocks = hosts.map(
  (address) =>
    `Host ${address}\n  Port ${setting.port}\n  User ${setting.user}\n  IdentityFile ${setting.key}\n\n`,
);
writeFileSync(
  sshConfig,
  `${blocks.join('')}Host *\n  ConnectTimeout 120\n  UserKnownHostsFile ${home}/known_hosts\n`,
);
const transport = createTransport({
  home,
  user: 'root',
  env: {},
  log: silentLogger,
  clock: systemClock(1),
  ask: undefined,
  resolveSecret: () => Promise.resolve(new Secret('')),
  notice: () => undefined,
  uploads: defaultUploads,
  hosts: [],
});

async function fleet(address: string): Promise<boolean> {
  const session = await transport.connect({
    name: address,
    ssh: {
      sshConfig,
      transport: 'builtin',
      hostKeys: [],
      hostKeyPolicy: 'accept-new',
    },
  });
  try {
    return (await session.script(script, { as: 'login' })).stdout.includes('frames ');
  } finally {
    await session.close();
  }
}

/** A minimal client: no host keys, no configuration, no sudo, no time-outs. */
function bare(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    let stdout = '';
    client.on('error', reject);
    client.on('close', () => resolve(stdout.includes('frames ')));
    client.on('ready', () => {
      client.exec('sh -s', (error, channel) => {
        if (error) return reject(error);
        channel.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
        channel.stderr.resume();
        channel.on('close', () => client.end());
        channel.end(script);
      });
    });
    client.connect({
      host: address,
      port: setting.port,
      username: setting.user,
      privateKey: key,
      readyTimeout: 120_000,
    });
  });
}

const one = name === 'azp-fleet' ? fleet : bare;
/** Memory of Node and the imports before the first connection. */
const startMiB = process.memoryUsage().rss / 1024 / 1024;
const failures = new Map<string, number>();
const attempt = (address: string): Promise<boolean> =>
  one(address).catch((error: unknown) => {
    const why = error instanceof FleetError ? error.problem.code : String(error);
    failures.set(why, (failures.get(why) ?? 0) + 1);
    return false;
  });

const all = (some: readonly string[]): Promise<boolean[]> =>
  Promise.all(some.map((address) => limit(() => attempt(address))));
// One-time allocations (compiled code, caches, the random source) happen in the first tenth.
const tenth = Math.ceil(hosts.length / 10);
const results = await all(hosts.slice(0, tenth));
const before = await held();
results.push(...(await all(hosts.slice(tenth))));
const after = await held();
await transport.close();
rmSync(home, { recursive: true, force: true });
process.stdout.write(
  `${JSON.stringify({
    ok: results.filter(Boolean).length,
    startMiB,
    peakMiB: process.resourceUsage().maxRSS / 1024,
    left: {
      descriptors: after.descriptors - before.descriptors,
      handles: after.handles - before.handles,
      heapKiB: (after.heap - before.heap) / 1024,
    },
    failures: [...failures].map(([why, count]) => `${count} × ${why}`),
  })}\n`,
);

/** Memory of the process without open connections. */
async function held(): Promise<Record<'descriptors' | 'handles' | 'heap', number>> {
  // A closed connection is destroyed half a second later, whatever the other side does.
  await sleep(1000);
  globalThis.gc?.();
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    handles: process.getActiveResourcesInfo().length,
    heap: process.memoryUsage().heapUsed,
  };
}
