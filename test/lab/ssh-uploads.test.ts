import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import type { UploadLimits } from '../../src/fleet/inventory/fleet.ts';
import type { Session, UploadSource } from '../../src/fleet/ssh/transport.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// One real sshd that answers on many loopback addresses: many hosts that want the same bundle at once.
const KiB = 1024;
const MiB = 1024 * KiB;
let sshd: Sshd;
beforeAll(async () => {
  sshd = await startSshd({ listen: '0.0.0.0', config: ['MaxStartups 100'] });
});
afterAll(() => sshd.stop());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});

function connectAll(count: number, uploads: UploadLimits): Promise<Session[]> {
  const transport = testTransport({ uploads });
  transports.push(transport);
  const { port, clientKeyFile: identityFile } = sshd;
  return Promise.all(
    Array.from({ length: count }, (_v, index) => {
      const ssh = sshSpec({ address: `127.0.2.${index + 1}`, port, user: 'root', identityFile });
      return transport.connect({ name: `h${index}`, ssh });
    }),
  );
}

function place(index: number): string {
  return join(sshd.folder, `bundle-${index}`);
}

function bundle(size: number): UploadSource & { readonly file: string } {
  const file = join(sshd.folder, 'bundle');
  // By programs: what this process holds is what a test measures.
  const script = 'head -c "$2" /dev/urandom >"$1"; sha256sum <"$1"';
  const sum = execFileSync('sh', ['-c', script, '-', file, String(size)], { encoding: 'utf8' });
  return { file, size, sha256: sum.slice(0, 64) };
}

test('hosts share the bandwidth that is given: together they are no faster', async () => {
  const sessions = await connectAll(4, { bandwidth: 512 * KiB, parallel: 4 });
  const source = bundle(384 * KiB);
  const began = performance.now();
  await Promise.all(sessions.map((session, index) => session.upload(source, place(index), { mode: 0o600 })));
  // 1.5 MiB at half a MiB a second, less the quarter of a second that an idle line saves up, and the last pieces.
  expect(performance.now() - began).toBeGreaterThan(2300);
  for (const index of sessions.keys())
    expect(readFileSync(place(index)).equals(readFileSync(source.file))).toBe(true);
});

test('no more hosts at a time than given', async () => {
  const sessions = await connectAll(6, { parallel: 2 });
  const under = new Set<number>();
  let most = 0;
  await Promise.all(
    sessions.map(async (session, index) => {
      const options = {
        mode: 0o600,
        onProgress: () => {
          under.add(index);
          most = Math.max(most, under.size);
        },
      };
      await session.upload({ bytes: randomBytes(300 * KiB) }, place(index), options);
      under.delete(index);
    }),
  );
  expect(most).toBeLessThanOrEqual(2);
});

test('a bundle to many hosts is not held in memory, neither once nor for each', async () => {
  const count = 8;
  const size = 32 * MiB;
  const sessions = await connectAll(count, { parallel: count });
  const source = bundle(size);
  // Without what only waits for the collector.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  const looks: number[] = [];
  let pieces = 0;
  const options = {
    mode: 0o600,
    onProgress: () => {
      pieces += 1;
      if (pieces % 50 === 0) looks.push(held() - before);
    },
  };
  await Promise.all(sessions.map((session, index) => session.upload(source, place(index), options)));
  expect(looks.length).toBeGreaterThan(10);
  // What is on its way through a connection (its window is 2 MiB), plain and encrypted, for each; 256 MiB went out.
  expect(Math.max(...looks)).toBeLessThan(count * 8 * MiB);
});
