import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import { agentMounts } from '../../../../src/manager/docker/mounts.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Lists the files copied into a container, by tar. */
const copied = (name: string): string[] =>
  (rig.docker.get(name)?.archives ?? []).flatMap(({ path, tar }) =>
    execFileSync('tar', ['-tv', '--numeric-owner'], { input: tar, encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/))
      .map(([mode, owner, , , , file]) => `${mode} ${owner} ${join(path, file ?? '')}`),
  );

test('each slot has its own uid, only that uid can read the key, and all share the group', async () => {
  await rig.start();
  await rig.until('idle');
  expect(['box-0', 'box-1'].map((name) => rig.docker.get(name)?.body['User'])).toEqual([
    '59000:4000',
    '59001:4000',
  ]);
  expect(copied('box-1')).toEqual(
    expect.arrayContaining([
      '-rw------- 59001/4000 /azp/.credentials_rsaparams',
      'drwxr-xr-x 59001/4000 /azp/',
      'drwxr-xr-x 59001/4000 /home/agent/',
      '-rw-r--r-- 0/0 /etc/passwd',
    ]),
  );
});

test('the users of an image are read once', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  const first = rig.docker.get('box-0')?.id;
  rig.endJob('box-0');
  await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(first);
  await rig.until('idle');
  const reads = rig.docker.calls.filter(({ method, url }) => method === 'GET' && url.includes('passwd'));
  // Two slots that start at the same time may both read them.
  expect(reads.length).toBeLessThanOrEqual(2);
  expect(copied('box-0')).toContain('-rw-r--r-- 0/0 /etc/passwd');
});

fault(
  'dataset-removed',
  'a dataset that is removed between check and start is named, and no folder is created',
  async () => {
    const host = join(rig.directory, 'data');
    mkdirSync(join(host, 'x'), { recursive: true });
    const gone = `invalid mount config for type "bind": bind source path does not exist: ${host}`;
    rig.docker.fail(/^POST \/containers\/create$/, 400, gone);
    await rig.start({
      agents: { kind: 'count', count: 1 },
      datasets: [{ name: 'DATA', host, container: '/data', requireMount: false }],
    });
    await rig.until('idle', ['0']);
    const failures = rig.logged
      .filter(({ message }) => message === 'launch failed')
      .map(({ fields }) => fields);
    expect(failures).toMatchObject([
      { code: 'engine.no-folder', next: expect.stringContaining('mount or create it') },
    ]);
    // It is not the image's fault.
    expect((await rig.status()).problems).toEqual([]);
  },
);

test('mounts below a dataset are read-only where engine, kernel and runtime support it', async () => {
  const host = join(rig.directory, 'data');
  mkdirSync(join(host, 'x'), { recursive: true });
  await rig.start({ datasets: [{ name: 'DATA', host, container: '/data', requireMount: false }] });
  await rig.until('idle');
  expect(rig.docker.get('box-0')?.body.HostConfig?.['Mounts']).toMatchObject([
    { Source: host, ReadOnly: true, BindOptions: { ReadOnlyForceRecursive: true } },
  ]);
});

test('the engine creates no empty folder for a missing dataset', async () => {
  const missing = join(rig.directory, 'missing');
  const engine = createEngine({ socketPath: rig.docker.socketPath });
  const Mounts = agentMounts(
    {
      datasets: [{ name: 'D', host: missing, container: '/d', requireMount: false }],
      jobs: { sudo: false, docker: false },
    },
    true,
  );
  await expect(engine.create('a', { HostConfig: { Mounts } })).rejects.toMatchObject({
    problem: { code: 'engine.no-folder' },
  });
  expect(existsSync(missing)).toBe(false);
});
