// One contender of bench/ssh.ts in a process of its own: `node ssh-client.ts NAME SETTING`. Prints one JSON line.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';
import ssh2 from 'ssh2';

import { silentLogger } from '../src/base/log.ts';
import { Secret } from '../src/base/secret.ts';
import { createTransport } from '../src/ssh/create-transport.ts';

interface Setting {
  readonly folder: string;
  readonly script: string;
  readonly port: number;
  readonly key: string;
  readonly concurrency: number;
}

const [, , name, json = '{}'] = process.argv;
const setting = JSON.parse(json) as Setting;
const hosts = readFileSync(join(setting.folder, 'hosts'), 'utf8').trim().split('\n');
const script = readFileSync(setting.script, 'utf8');
const key = readFileSync(setting.key);
const limit = pLimit(setting.concurrency);

const before = openFiles();
const home = mkdtempSync(join(tmpdir(), 'azp-bench-home-'));
const transport = createTransport({
  home,
  user: 'root',
  env: {},
  log: silentLogger,
  now: Date.now,
  ask: undefined,
  resolveSecret: () => Promise.resolve(new Secret('')),
  notice: () => undefined,
  configFiles: { user: join(home, 'config'), system: undefined },
});

async function fleet(address: string): Promise<boolean> {
  const session = await transport.connect({
    name: address,
    ssh: {
      address,
      port: setting.port,
      user: 'root',
      identityFile: setting.key,
      transport: 'builtin',
      hostKeys: [],
      hostKeyPolicy: 'accept-new',
    },
  });
  const { stdout } = await session.script(script);
  await session.close();
  return stdout.includes('frames ');
}

/** What one would write in an afternoon: no host keys, no configuration, no sudo, no time-outs. */
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
      username: 'root',
      privateKey: key,
      readyTimeout: 120_000,
    });
  });
}

const one = name === 'azp-fleet' ? fleet : bare;
const results = await Promise.all(hosts.map((address) => limit(() => one(address).catch(() => false))));
await transport.close();
await sleep(200);
globalThis.gc?.();
const after = process.memoryUsage().heapUsed;
rmSync(home, { recursive: true, force: true });
process.stdout.write(
  `${JSON.stringify({
    ok: results.filter(Boolean).length,
    peakMiB: process.resourceUsage().maxRSS / 1024,
    notes: `${openFiles() - before} descriptors left, heap ${(after / 1024 / 1024).toFixed(0)} MiB`,
  })}\n`,
);

function openFiles(): number {
  return readdirSync('/proc/self/fd').length;
}
