import { expect, test } from 'vitest';

import { gatherFacts } from '../../../../src/fleet/facts/gather.ts';
import { probes } from '../../../../src/fleet/facts/parse.ts';
import { answerLimit } from '../../../../src/fleet/facts/probe.ts';
import { textOf } from '../../../../src/fleet/facts/probes/files.ts';
import { asIfAbsent, withoutUnread } from '../../../../src/fleet/facts/unread.ts';
import type { Session } from '../../../../src/fleet/ssh/transport.ts';
import { frameScript } from '../../../../src/fleet/ssh/session/frames.ts';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mib = 1024 * 1024;

/** Returns a session of a host with this output of the GPU probe. `scripts`: of other probes. */
function hostWith(gpus: string, scripts: Readonly<Record<string, string>> = {}): Pick<Session, 'script'> {
  const found: Record<string, string> = { os: 'ID=debian\n', machine: 'arch x86_64\n', gpus };
  const script = frameScript(
    probes.map(({ name }) => ({
      name,
      script: `${scripts[name] ?? `printf %s '${found[name] ?? ''}'`}\nprintf '\\nend\\n'`,
    })),
    answerLimit,
  );
  const { stdout } = spawnSync('/bin/sh', { input: script, encoding: 'utf8', maxBuffer: 32 * mib });
  return { script: () => Promise.resolve({ code: 0, stdout, stderr: '' }) } as unknown as Session;
}

test('ignored display cards are not in the GPUs of the host', async () => {
  const session = hostWith('gpu 0000:03:00.0 128b nouveau\ngpu 0000:83:00.0 2684 \n') as Session;
  const host = { name: 'a', ignoredGpus: ['10de:128b'] };
  const facts = withoutUnread(await gatherFacts(session, host, { prefix: '' }));
  expect(facts.gpus.map(({ address }) => address)).toEqual(['0000:83:00.0']);
  expect(facts.ignoredGpus.map(({ address }) => address)).toEqual(['0000:03:00.0']);
  expect(withoutUnread(await gatherFacts(session, { name: 'a' }, { prefix: '' })).gpus.length).toBe(2);
});

/** Shell text that prints so many bytes in one line. */
const printing = (bytes: number): string => `head -c ${bytes} /dev/zero | tr '\\0' x`;

test('a probe that prints more than the limit is unknown, and the others are read', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'azp-fleet-')), 'daemon.json');
  writeFileSync(file, Buffer.alloc(2 * mib, ' '));
  const { script } = textOf(file);
  const session = hostWith('gpu 0000:83:00.0 2684 \n', {
    'docker-containers': printing(3 * mib),
    'docker-images': printing(2 * mib + 1),
    'daemon-json': script({ root: { prefix: '' } }),
    others: `echo 'login eve pts/0'; ${printing(3 * mib)} >&2`,
  }) as Session;
  const facts = await gatherFacts(session, { name: 'a' }, { prefix: '' });
  const why = 'its answer is longer than 2 MiB';
  expect(facts.unknown).toEqual([
    { fact: 'docker-containers', why },
    { fact: 'docker-images', why },
    { fact: 'daemon-json', why },
  ]);
  expect(asIfAbsent(facts)).toMatchObject({ gpus: [{}], others: { logins: ['eve pts/0'] } });
});

test('an answer that ends within the limit is read', async () => {
  const session = hostWith('', { 'daemon-json': `echo present; ${printing(2 * mib - 100)}` }) as Session;
  const facts = await gatherFacts(session, { name: 'a' }, { prefix: '' });
  expect(facts.unknown).toEqual([]);
  expect(withoutUnread(facts).docker.daemonJson).toHaveLength(2 * mib - 100);
});

test('facts do not keep the output that they were read from', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'azp-fleet-')), 'daemon.json');
  writeFileSync(file, '{ "data-root": "/srv/docker" }\n');
  const daemonJson = textOf(file).script({ root: { prefix: '' } });
  const read = hostWith('', { 'daemon-json': daemonJson }) as Session;
  const { stdout, ...rest } = await read.script('');
  // A program that runs at a login may print text before the facts.
  const host = (index: number): Session => ({
    ...read,
    script: () => Promise.resolve({ ...rest, stdout: `${String(index).repeat(mib)}\n${stdout}` }),
  });
  const before = heapMiB();
  const hosts = [];
  for (let index = 0; index < 10; index += 1)
    hosts.push(await gatherFacts(host(index), { name: 'a' }, { prefix: '' }));
  expect(heapMiB() - before).toBeLessThan(5);
  expect(asIfAbsent(hosts[9] as (typeof hosts)[number]).docker.daemonJson).toContain('/srv/docker');
});

function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / mib;
}
