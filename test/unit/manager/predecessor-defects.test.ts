// The predecessor of this manager, a Python script of 2019, had 17 defects. Each test names one as users saw it, and shows
// that it does not happen. The daemon runs against a fake Azure DevOps server and a stand-in dockerd.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bases, chooseBase } from '../../../src/shared/image/choose.ts';
import { parseArguments, usage } from '../../../src/manager/start/arguments.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { containerOptions } from '../../../src/manager/docker/container.ts';
import { SizeLimits } from '../../../src/manager/docker/engine-abilities.ts';
import { Metrics } from '../../../src/manager/serve/metrics.ts';
import { resolveSlots } from '../../../src/manager/slots/resolve.ts';
import { standaloneConfig } from '../../../src/manager/start/configuration.ts';
import { orphansIn } from '../../../src/manager/pool/sweeper.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { config } from '../../support/manager-config.ts';
import { optionEffects } from './start/option-effects.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const gpus = ['1', '2'].map((n) => ({ busId: `0000:0${n}:00.0`, uuid: `GPU-${n}` }));
const one = { agents: { kind: 'count', count: 1 } } as const;

function optionsOf(slotIndex: number) {
  const whole = config();
  const slot = resolveSlots(whole, gpus)[slotIndex];
  if (slot === undefined) throw new Error('no slot');
  const recipe = {
    run: 'r',
    image: 'i',
    settings: 's',
    agentId: 1,
    poolId: 1,
    gpuPath: 'nvidia',
    dockerGid: undefined,
    readOnlyBelow: true,
    sizes: new SizeLimits({ driver: 'overlay2', byContainerd: false }),
  } as const;
  return containerOptions({ ...recipe, config: whole, slot });
}

test('1: the token was an argument, a variable of every container, and a file in it', async () => {
  await rig.start();
  await rig.until('idle');
  const containers = [...rig.docker.containers.values()];
  expect(JSON.stringify(containers)).not.toContain('good-token');
  expect(
    containers.map(({ archives }) => archives.map(({ tar }) => tar.toString('latin1')).join('')).join(''),
  ).not.toContain('good-token');
  expect(() => parseArguments(['run', '--token', 'x'])).toThrow('--token');
  expect(readFileSync('units/azp-fleet-manager.service', 'utf8')).not.toMatch(/Environment=.*TOKEN/i);
});

describe('2: options were accepted and ignored', () => {
  test('an unknown option is rejected', () => {
    expect(() => parseArguments(['run', '--poll-time', '5'])).toThrow('--poll-time');
  });
  test.each([
    [['drain', '--pool', 'x'], 'drain has no option --pool'],
    [['run', '--reason', 'x'], 'run has no option --reason'],
    [['run', '0'], 'run does not take 0'],
    [['logs', '0', '1'], 'logs does not take 1'],
    [['run', '--config', 'f', '--share'], '--share cannot be combined with --config'],
    [['stauts'], 'there is no command stauts'],
    [[], 'a command is missing'],
  ])('an argument without effect is rejected: %j', (args, what) => {
    expect(() => parseArguments(args)).toThrow(what);
  });
  test.each(Object.entries(optionEffects))(
    '--%s is in the help and does what it says',
    async (name, shown) => {
      expect(usage).toContain(`--${name}`);
      await shown(rig);
    },
  );
});

test('3: only the last --volume counted, and one before the command swallowed it', () => {
  const { command, values } = parseArguments(
    '--volume /a:/b:C --volume /d:/e:F run --url https://dev.azure.com/lab --pool p'.split(' '),
  );
  expect(command).toBe('run');
  const { datasets } = standaloneConfig(values, 'box');
  expect(datasets.map(({ name }) => name)).toEqual(['C', 'F']);
});

test('4: a stop by systemd left containers that no manager collected', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0');
  await rig.stop();
  expect(rig.docker.get('box-0')?.state).toBe('running');
  await rig.start();
  await rig.until('busy', ['0']);
  const id = rig.docker.get('box-0')?.id;
  rig.endJob('box-0');
  await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(id);
});

test('5: after a restart the names stayed in use', async () => {
  await rig.start();
  await rig.until('idle');
  const before = [...rig.docker.containers.keys()];
  await rig.stop();
  await rig.start();
  await rig.until('idle');
  expect([...rig.docker.containers.keys()]).toEqual(before);
});

test('6: cleaning up killed running jobs and left offline agents in the pool', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  await rig.post('/v1/drain', {});
  await rig.until('drained', ['1']);
  expect(rig.docker.get('box-0')?.state).toBe('running');
  const agent = {
    id: 9,
    name: 'box-9',
    enabled: true,
    status: 'offline',
    userCapabilities: { 'azp-fleet.owner': 'us' },
  } as const;
  const ours = { owner: 'us', names: new Set(['box-0']) };
  expect([...orphansIn([agent], ours, undefined, 0).keys()]).toEqual([9]);
});

test('7: a created, dead or exited container counted as running', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  for (const state of ['created', 'exited', 'dead'] as const) {
    const container = rig.docker.get('box-0');
    if (container === undefined) throw new Error('no container');
    rig.docker.end('box-0', 1);
    container.state = state;
    await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(container.id);
    await rig.until('idle', ['0']);
  }
});

test('8: a restart of dockerd ended the manager', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.docker.stop();
  await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('engine.unreachable');
  await rig.docker.start();
  await rig.until('idle', ['0']);
});

test('9: a free slot waited up to a minute', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const first = rig.docker.get('box-0');
  rig.beginJob('box-0');
  rig.endJob('box-0');
  // The periodic check runs every 10 s; only the event can be this fast.
  await expect.poll(() => rig.docker.get('box-0')?.state).toBe('running');
  const gap = Date.parse(rig.docker.get('box-0')?.startedAt ?? '') - Date.parse(first?.finishedAt ?? '');
  expect(gap).toBeLessThan(9000);
});

test('10: a broken image was started each minute, and its error was lost', async () => {
  rig.docker.onStart = ({ id }) => {
    rig.docker.say(id, 'libicu is missing');
    rig.docker.end(id, 127);
  };
  await rig.start(one);
  await rig.until('backing-off', ['0']);
  const runs = JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs' })) as unknown[];
  expect(runs[0]).toMatchObject({ exitCode: 127, log: ['libicu is missing'], cause: { code: 'run.failed' } });
});

test('11: the image was pulled once, by a moving tag, and never again', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.stop();
  const next = rig.docker.addImage('registry.example/agent:2');
  await rig.start({ ...one, image: { kind: 'registry', reference: 'registry.example/agent:2' } });
  await expect.poll(() => rig.docker.get('box-0')?.body.Image).toBe(next.id);
  await rig.until('idle', ['0']);
  expect((await rig.status()).image.digest).toBe(next.id);
  expect(rig.docker.get('box-0')?.body.Labels?.['azp-fleet.image-digest']).toBe(next.id);
});

test('12: without nvidia-smi it exited with a traceback', async () => {
  rig.plugIn('0000:01:00.0');
  rig.programs.set('sh', {
    code: 127,
    output: 'sh: nvidia-smi: not found',
    timedOut: false,
    stillRunning: () => false,
  });
  await rig.start({ agents: { kind: 'one-per-gpu' } });
  await rig.until('quarantined', ['0']);
  expect((await rig.status()).health).toMatchObject({ state: 'failed' });
});

test("13: only the driver's exact CUDA version was accepted", () => {
  const host = { arch: 'x86_64', capabilities: ['8.0'], cpuOnly: false };
  const choice = chooseBase({ ...host, cudaMax: '12.7' });
  expect(choice).toMatchObject({ ok: true });
  expect(choice.ok && Number(choice.cuda)).toBeLessThanOrEqual(12.7);
});

test('14: every agent saw every GPU', () => {
  expect(
    [optionsOf(0), optionsOf(1)].map(({ HostConfig }) => HostConfig?.DeviceRequests?.[0]?.DeviceIDs),
  ).toEqual([['GPU-1'], ['GPU-2']]);
});

test('15: a wrong pool name showed as exiting containers, and there were no metrics', async () => {
  await rig.start({ pool: 'gpu-lba' });
  await expect
    .poll(async () => (await rig.status().catch(() => undefined))?.problems[0])
    .toMatchObject({
      code: 'pool.missing',
      what: expect.stringContaining('gpu-lba') as string,
    });
  expect(rig.docker.containers.size).toBe(0);
  const text = await new Metrics().render(await rig.status(), undefined);
  expect(text).toContain('azp_fleet_pool_up{pool="gpu-lba"} 0');
});

test('16: out of memory killed the agent before the job', () => {
  expect(optionsOf(0).HostConfig?.OomScoreAdj).toBe(500);
  expect(optionsOf(0).Env).toContain('PIPELINE_JOB_OOMSCOREADJ=1000');
});

test('17: it needed a deleted image, and a system too old for the agent', () => {
  expect(readFileSync('src/shared/health/probe.ts', 'utf8')).not.toContain('nvidia/cuda:');
  const offered = [bases.cpu.os, ...bases.cuda.flatMap(({ os }) => os)];
  for (const os of offered) expect(['ubuntu22.04', 'ubuntu24.04', 'debian12']).toContain(os);
});
