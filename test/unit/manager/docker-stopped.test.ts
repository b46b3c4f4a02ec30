// Slots with mode: host beside one in a container, while Docker is stopped. The daemon over real sockets; systemd
// is a stand-in, and tests choose the agents' output.
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { builtImage } from '../../../src/shared/contract/agent-release.ts';
import { agentFilesIn } from '../../support/docker/state.ts';
import { AgentSession } from '../../support/agent-session.ts';
import { FakeSystemd } from '../../support/fake-systemd.ts';
import { ManagerRig, printed } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

const slot = { gpus: [], share: false, limits: {}, capabilities: [] };
const agents = {
  kind: 'slots',
  slots: [
    { ...slot, name: 'box', mode: 'container' },
    { ...slot, name: 'bare', mode: 'host' },
  ],
} as const;
const unit = 'azp-fleet-agent-bare.service';

let rig: ManagerRig;
let systemd: FakeSystemd;
beforeEach(async () => {
  rig = await ManagerRig.create();
  chmodSync(rig.directory, 0o755);
  const { agentVersion, agentSha256 } = builtImage(process.arch);
  mkdirSync(join(rig.directory, `${agentVersion}-${agentSha256.slice(0, 12)}`, 'bin'), { recursive: true });
  systemd = new FakeSystemd();
  rig.hostPrograms.systemd = systemd;
  for (const program of ['tar', 'chown']) rig.programs.set(program, printed(''));
  rig.programs.set('getent', printed('azp-agent-bare:x:58999:58999::/:/usr/sbin/nologin\n'));
  systemd.onStarted = (name) => {
    systemd.say(name, 'Scanning for tool capabilities.');
    systemd.say(name, '2026-11-21 02:00:00Z: Listening for Jobs');
  };
});
afterEach(() => rig.close());

function runJob(): void {
  systemd.say(unit, '2026-11-21 02:00:01Z: Running job: train');
  systemd.say(unit, '2026-11-21 02:00:02Z: Job train completed with result: Succeeded');
  systemd.end(unit, 0);
}

const jobsRun = async (): Promise<number> => (await rig.slot('bare')).jobsRun;

fault('docker-stopped', 'a slot with mode: host runs jobs while Docker is stopped', async () => {
  await rig.start({ agents });
  await rig.until('idle', ['box', 'bare']);
  await rig.docker.stop();
  await expect
    .poll(async () => (await rig.status()).problems.map(({ code }) => code))
    .toContain('engine.unreachable');
  for (const count of [1, 2]) {
    await rig.until('idle', ['bare']);
    runJob();
    await expect.poll(jobsRun).toBe(count);
  }
  await rig.until('idle', ['bare']);
  await rig.docker.start();
  await rig.until('idle', ['box', 'bare']);
});

test('with network: required it needs the routing rules, but not Docker', async () => {
  await rig.docker.stop();
  rig.programs.set('ip', { ...printed('Operation not permitted'), code: 2 });
  await rig.start({ agents, fence: 'required' });
  await expect.poll(async () => (await rig.slot('bare')).code).toBe('fence.open');
  // Its agent is disabled first, where there is one.
  await rig.until('waiting', ['bare']);
  rig.programs.set('ip', printed(''));
  await rig.until('idle', ['bare']);
  await rig.docker.start();
  await rig.until('idle', ['box', 'bare']);
});

test('it runs jobs also when the manager starts without Docker', async () => {
  await rig.docker.stop();
  await rig.start({ agents });
  await rig.until('idle', ['bare']);
  runJob();
  await expect.poll(jobsRun).toBe(1);
  await rig.docker.start();
  await rig.until('idle', ['box', 'bare']);
});

test('a slot whose container may have a job starts no run on the host', async () => {
  const [box, bare] = agents.slots;
  await rig.start({ agents: { kind: 'slots', slots: [box, { ...bare, mode: 'container' }] } });
  await rig.until('idle', ['box', 'bare']);
  const before = rig.docker.get('box-bare');
  await AgentSession.open(await agentFilesIn(before));
  await rig.stop();
  await rig.docker.stop();
  await rig.start({ agents });
  await expect
    .poll(async () => (await rig.status()).problems.map(({ code }) => code))
    .toContain('engine.unreachable');
  await expect.poll(async () => (await rig.status()).pools).toMatchObject([{ up: true }]);
  await rig.post('/v1/adopt', { slots: ['bare'] });
  expect(systemd.calls.filter((call) => call.includes(`--unit=${unit}`))).toEqual([]);
  expect(rig.docker.get('box-bare')?.id).toBe(before?.id);
});
