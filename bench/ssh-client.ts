// Connects to many hosts and reads their facts, as every command of azp-fleet does: `node ssh-client.mjs SETTING`.
// With `watch` it pauses twice and prints as JSON what the connections have left.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';

import { systemClock } from '../src/shared/base/clock.ts';
import { silentLogger } from '../src/shared/base/log.ts';
import { Secret } from '../src/shared/base/secret.ts';
import { defaultUploads } from '../src/fleet/inventory/schema/defaults.ts';
import { createTransport } from '../src/fleet/ssh/create-transport.ts';

export interface Setting {
  /** A file with an address a line. */
  readonly hosts: string;
  readonly script: string;
  readonly port: number;
  readonly user: string;
  readonly key: string;
  /** Public key of all hosts. */
  readonly hostKey: string;
  readonly concurrency: number;
  /** The settings of each host come from its own block in ssh_config, by `ssh -G`, instead of from the inventory. */
  readonly blocks: boolean;
  readonly watch: boolean;
}

const setting = JSON.parse(process.argv[2] ?? '{}') as Setting;
const hosts = readFileSync(setting.hosts, 'utf8').trim().split('\n');
const script = readFileSync(setting.script, 'utf8');
const limit = pLimit(setting.concurrency);

const home = mkdtempSync(join(tmpdir(), 'azp-bench-home-'));
const sshConfig = join(home, 'config');
const { port, user, key, hostKey } = setting;
const block = (address: string): string =>
  `Host ${address}\n  Port ${port}\n  User ${user}\n  IdentityFile ${key}\n\n`;
const blocks = setting.blocks ? hosts.map(block).join('') : '';
// One sshd serves all of them and is the slowest part: no client times out on it (ssh waits for ever as well).
writeFileSync(sshConfig, `${blocks}Host *\n  ConnectTimeout 120\n`);
const own = setting.blocks ? {} : { port, user, identityFile: key };
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

async function one(address: string): Promise<void> {
  const session = await transport.connect({
    name: address,
    ssh: { ...own, sshConfig, transport: 'builtin', hostKeys: [hostKey], hostKeyPolicy: 'strict' },
  });
  try {
    const { stdout } = await session.script(script, { as: 'login' });
    if (!stdout.includes('frames ')) throw new Error(`${address}: no facts`);
  } finally {
    await session.close();
  }
}

const all = (some: readonly string[]): Promise<void[]> =>
  Promise.all(some.map((address) => limit(() => one(address))));
if (setting.watch) {
  // One-time allocations (compiled code, caches, the random source) happen in the first tenth.
  const tenth = Math.ceil(hosts.length / 10);
  await all(hosts.slice(0, tenth));
  const before = await held();
  await all(hosts.slice(tenth));
  const after = await held();
  const left = {
    descriptors: after.descriptors - before.descriptors,
    handles: after.handles - before.handles,
    heapKiB: Math.round((after.heap - before.heap) / 1024),
  };
  process.stdout.write(JSON.stringify(left));
} else {
  await all(hosts);
}
await transport.close();
rmSync(home, { recursive: true, force: true });

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
