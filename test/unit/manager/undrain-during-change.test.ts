// A user removes a drain while provision runs, or an interrupted change is in progress on the host.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { FleetError } from '../../../src/shared/base/errors.ts';
import { failed, ManagerRig, printed } from '../../support/manager-rig.ts';

let rig: ManagerRig;
const unit = 'azp-fleet-change-driver-0a1b.service';

beforeEach(async () => {
  rig = await ManagerRig.create();
  await rig.start();
  await rig.until('idle');
});
afterEach(() => rig.close());

const ofRun = { reason: 'install the driver', owner: 'ann@laptop', run: 'r1' };

/** Writes the files of a change. */
function begin(files: Readonly<Record<string, string>> = {}): void {
  const folder = join(rig.directory, 'changes/driver-0a1b');
  mkdirSync(folder, { recursive: true });
  const all = { title: 'install the driver', owner: 'ann@laptop', since: '2026-11-22T09:30:00Z', ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), `${text}\n`);
}

function systemdSays(state: string): void {
  rig.programs.set('systemctl', (args) =>
    args.includes(unit) ? printed(`SubState=${state}\n`) : failed(1, 'asked of another unit'),
  );
}

async function undrain(body: object = {}): Promise<unknown> {
  return rig.post('/v1/undrain', body).then(
    ({ drains }) => drains,
    (error: unknown) => (error instanceof FleetError ? error.problem : error),
  );
}

test.each(['running', 'stop-sigterm', 'final-sigkill', 'start'])(
  'a running change (%s): undrain fails and names it, and the agents stay drained',
  async (state) => {
    await rig.post('/v1/drain', ofRun);
    await rig.post('/v1/drain', { reason: 'new fan', owner: 'bob@desk' });
    begin();
    systemdSays(state);
    expect(await undrain()).toEqual({
      code: 'drain.at-work',
      what: `"install the driver" is in progress on the host as ${unit}, since 2026-11-22 09:30 UTC; the agents stay drained until it ends`,
      next: `wait for its end (\`tail -f ${rig.directory}/changes/driver-0a1b/output\` on the host), or run \`azp-fleet provision\`, which follows it, checks the host and enables its agents again`,
    });
    expect((await rig.status()).drains).toHaveLength(2);
  },
);

test.each([
  ['systemd does not answer', failed(-1, '')],
  ['systemd prints nothing', printed('')],
])('a change in an unknown state: undrain fails (%s)', async (_, answer) => {
  await rig.post('/v1/drain', ofRun);
  begin();
  rig.programs.set('systemctl', answer);
  expect(await undrain()).toMatchObject({ code: 'drain.at-work' });
});

test.each([
  ['has ended', () => begin({ code: '0' }), 'running'],
  ['was lost with a crash', () => begin(), 'dead'],
  ['was killed', () => begin(), 'failed'],
  ['has ended, and systemd still lists its unit', () => begin(), 'exited'],
])('a change that %s does not prevent undrain', async (_, set, state) => {
  await rig.post('/v1/drain', ofRun);
  set();
  systemdSays(state);
  expect(await undrain()).toEqual([]);
});

test('the run itself removes its drain at any time', async () => {
  await rig.post('/v1/drain', ofRun);
  begin();
  systemdSays('running');
  expect(await undrain({ run: 'r1' })).toEqual([]);
});

test('drains of users can be removed during a change that needs no drain', async () => {
  await rig.post('/v1/drain', { reason: 'new fan', owner: 'bob@desk' });
  begin();
  systemdSays('running');
  expect(await undrain()).toEqual([]);
});

test('a run with the lock, between its changes: undrain fails until it has ended, whatever its note contains', async () => {
  await rig.post('/v1/drain', ofRun);
  const lock = join(rig.directory, 'lock');
  const note = { who: 'ann@laptop', command: 'azp-fleet provision', since: '2026-11-22T09:20:00Z' };
  writeFileSync(`${lock}.owner`, JSON.stringify(note));
  const run = spawn('flock', [lock, '-c', 'echo held; read -r _'], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(run.stdout, 'data');
  expect(await undrain()).toEqual({
    code: 'drain.at-work',
    what: 'ann@laptop runs azp-fleet provision on the host, since 2026-11-22 09:20 UTC; the agents stay drained until it ends',
    next: 'wait until it ends, or stop it there with Ctrl-C: it enables the agents again',
  });
  writeFileSync(`${lock}.owner`, 'no note');
  expect(await undrain()).toMatchObject({
    what: 'another user runs a command on the host; the agents stay drained until it ends',
  });
  run.stdin.end('\n');
  await once(run, 'close');
  expect(await undrain()).toEqual([]);
});

test('a person’s own drain ends during a change, and the run’s stays', async () => {
  await rig.post('/v1/drain', ofRun);
  await rig.post('/v1/drain', { reason: 'new fan', owner: 'bob@desk' });
  begin();
  systemdSays('running');
  const own = { owner: 'bob@laptop' };
  expect((await rig.post('/v1/undrain-own', own)).drains).toMatchObject([{ run: 'r1' }]);
  await expect(rig.post('/v1/undrain-own', own)).rejects.toMatchObject({
    problem: { what: expect.stringContaining('"install the driver" is in progress') as string },
  });
  systemdSays('dead');
  expect((await rig.post('/v1/undrain-own', own)).drains).toEqual([]);
});
