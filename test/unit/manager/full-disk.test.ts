// Full disks. The daemon with a fake Azure DevOps server and a stand-in dockerd; instead of a full
// disk, a file replaces a folder, because root may write everywhere else.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ManagerStatus, RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const at = (name: string): string => join(rig.directory, name);
function block(name: string): void {
  if (existsSync(at(name))) renameSync(at(name), at(`${name}.away`));
  writeFileSync(at(name), '');
}
function unblock(name: string): void {
  rmSync(at(name));
  if (existsSync(at(`${name}.away`))) renameSync(at(`${name}.away`), at(name));
}
const runs = async (): Promise<readonly RunRecord[]> =>
  JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs?slot=0' })) as RunRecord[];

fault(
  'job-fills-disk',
  'the container of a job that filled the disk is removed, and the next job gets a fresh one',
  async () => {
    await rig.start();
    await rig.until('idle');
    const first = rig.docker.get('box-0')?.id ?? '';
    rig.beginJob('box-0', 'filler');
    await rig.until('busy', ['0']);
    block('state');
    rig.endJob('box-0', 'filler');
    await expect.poll(() => rig.docker.containers.has(first)).toBe(false);
    await rig.until('idle');
    expect(await rig.slot('0')).toMatchObject({ jobsRun: 1 });
    expect(rig.logged.map(({ message }) => message)).toContain('the record of a run could not be written');
  },
);

test('a run record that did not fit is written after the removal of the container', async () => {
  await rig.start();
  await rig.until('idle');
  const first = rig.docker.get('box-0')?.id ?? '';
  rig.beginJob('box-0', 'filler');
  await rig.until('busy', ['0']);
  block('state');
  rig.docker.onRemove = (container) => {
    if (container.id === first) unblock('state');
  };
  rig.endJob('box-0', 'filler');
  await expect.poll(runs).toMatchObject([{ job: 'filler' }]);
});

fault(
  'state-not-written',
  'while the state cannot be written the manager continues, and reports it',
  async () => {
    await rig.start();
    await rig.until('idle');
    block('state');
    await expect(rig.post('/v1/drain', { reason: 'fan' })).rejects.toMatchObject({
      problem: { what: expect.stringContaining('a restart would lose') as string },
    });
    await rig.until('drained');
    expect((await rig.status()).problems.map(({ code }) => code)).toContain('state.not-written');
    unblock('state');
    await expect.poll(async () => (await rig.status()).problems).toEqual([]);
    await rig.stop();
    await rig.start();
    await rig.until('drained');
  },
);

fault(
  'run-full',
  'while the status cannot be written agents and socket continue, and the file is written later',
  async () => {
    await rig.start();
    await rig.until('idle');
    // The manager may write a new file in between.
    await vi.waitFor(
      () => {
        rmSync(at('status.json'), { force: true });
        mkdirSync(join(at('status.json'), 'in the way'), { recursive: true });
      },
      { timeout: 180_000 },
    );
    rig.beginJob('box-0', 'train');
    await rig.until('busy', ['0']);
    rig.endJob('box-0', 'train');
    await expect.poll(async () => (await rig.slot('0')).jobsRun).toBe(1);
    await rig.until('idle');
    const said = rig.logged.filter(({ message }) => message === 'the status file cannot be written');
    // By its code alone: the message names another temporary file each time, and would be logged each time.
    expect(said).toMatchObject([{ fields: { error: expect.stringMatching(/^E[A-Z]+$/) as string } }]);
    rmSync(at('status.json'), { recursive: true });
    await expect
      .poll(() => {
        const text = existsSync(at('status.json')) ? readFileSync(at('status.json'), 'utf8') : '{}';
        return (JSON.parse(text) as Partial<ManagerStatus>).slots?.[0]?.jobsRun;
      })
      .toBe(1);
  },
);
