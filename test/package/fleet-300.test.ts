// `provision` on 300 hosts behind real SSH servers: waves, failures, unreachable hosts, and a CLI that is killed again and again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { systemClock } from '../../src/shared/base/clock.ts';
import { widthOf } from '../../src/cli/render/lines.ts';
import { runCommand } from '../support/command.ts';
import { requireCurrentBuild } from '../support/current-build.ts';
import { Chance } from '../support/model/chance.ts';
import { ScriptedFleet } from '../support/scripted-fleet/fleet.ts';
import type { Cut, Effect } from '../support/scripted-fleet/host.ts';

const count = 300;
/** `waves` of the inventory: 10 %. */
const mostUnavailable = count / 10;
const root = join(import.meta.dirname, '../..');
let fleet: ScriptedFleet;
let effects: Effect[] = [];
/** The most hosts without agents at a time, with those that cannot be reached. */
let mostDown = 0;
const away = ['gpu-3', 'gpu-30'];
const failing = ['gpu-7', 'gpu-25'];

beforeAll(async () => {
  requireCurrentBuild(root);
  fleet = await ScriptedFleet.start(count);
});
afterAll(() => fleet.close());

/** Forgets the effects so far; `cut` decides about each later one. */
function watch(unreachable = 0, cut: (effect: Effect) => Cut = () => undefined): void {
  effects = [];
  mostDown = 0;
  for (const host of fleet.hosts)
    host.onEffect = (effect) => {
      effects.push(effect);
      const others = fleet.hosts.filter((each) => each !== host && each.drains.length > 0).length;
      if (effect.what === 'drain') mostDown = Math.max(mostDown, others + 1 + unreachable);
      return cut(effect);
    };
}

/** Someone has removed the configuration of dockerd from every host: its restart disturbs containers. */
function removeConfiguration(): void {
  for (const host of fleet.hosts) host.daemonJson = undefined;
}

const touched = () => [...new Set(effects.map(({ host }) => host))];
const configured = () => fleet.hosts.flatMap((host) => (host.daemonJson === undefined ? [] : [host.name]));

/** The state of each host, in the inventory's order. */
const states = () =>
  fleet.hosts.map((host) => {
    expect(host.unknown).toEqual([]);
    return { state: host.state, isLocked: host.isLocked };
  });

function start(...args: readonly string[]): { readonly child: ChildProcess; readonly said: () => string } {
  const child = spawn(
    process.execPath,
    [join(root, 'bin/azp-fleet.js'), 'provision', '-i', fleet.inventory, '--yes', ...args],
    {
      cwd: fleet.folder,
      env: { PATH: process.env['PATH'], ...fleet.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, said: () => said };
}

async function provision(...args: readonly string[]) {
  const { child, said } = start(...args);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said: said() };
}

test('a new fleet gets its managers', async () => {
  watch();
  const { code, said } = await provision();
  expect(said).toContain(`${count} hosts: ${count} healthy`);
  expect(code).toBe(0);
  expect(states().every(({ isLocked }) => !isLocked)).toBe(true);
  expect(configured()).toHaveLength(count);
});

test('a failed host stops the waves: the screen has 80 columns and says it once', async () => {
  removeConfiguration();
  for (const name of away) await fleet.leave(name);
  for (const name of failing) fleet.host(name).fails = 'docker-configure';
  watch(away.length);
  const { stdout, exitCode } = await runCommand(['provision', '-i', fleet.inventory, '--yes'], {
    cwd: fleet.folder,
    env: fleet.env,
    terminal: { columns: 80, rows: 24 },
    clock: systemClock(1),
  });
  expect(exitCode).toBe(1);
  const lines = stdout
    .replaceAll(/\u001B\[[0-9;]*m/g, '')
    .trimEnd()
    .split('\n');
  expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
  expect(lines.join('\n').replaceAll(/:\d+$/gm, ':PORT')).toMatchInlineSnapshot(`
    "298 hosts: the same 1 change (gpu-[1-2,4-29,31-300])
      + docker   configure Docker Engine: live-restore, log-opts
                 daemon.json is missing
                 + live-restore: true
                 + log-opts.max-size: 100m
                 + log-opts.max-file: 3
                 restarts running containers; drains agents first

    Waves: each starts once the previous is healthy; at most 10% of a pool at a time
      1 canary: gpu-1
      2: gpu-[2,4-29,31]
      3: gpu-[32-59]
      4: gpu-[60-87]
      5: gpu-[88-115]
      6: gpu-[116-143]
      7: gpu-[144-171]
      8 to 12: gpu-[172-300], at most 28 at a time

    Changes: 298 on 298 hosts, 2 hosts unreachable.


    gpu-[1-2,4-6,8-24,26-29,31]  healthy      1 change
    gpu-[32-300]                 skipped      not begun because 2 hosts failed
                                            (gpu-7, gpu-25), and at most 0 may
    gpu-7, gpu-25                failed       "configure Docker Engine:
                                            live-restore, log-opts" failed with exit
                                            code 1
    gpu-3, gpu-30                unreachable  nothing listens on {address}:PORT

    300 hosts: 27 healthy, 2 failed, 269 skipped, 2 unreachable"
  `);
  // The canary alone, then one wave; no host after it.
  const begun = 1 + mostUnavailable - away.length;
  expect(touched()).toHaveLength(begun);
  expect(configured()).toHaveLength(begun - failing.length);
  expect(lines.length).toBeLessThan(80);
});

test('the canary is first, then waves with as many failures as allowed; unreachable hosts are named', async () => {
  removeConfiguration();
  watch(away.length);
  const { code, said } = await provision('--max-failures', '5', '--parallel', '100');
  expect(code).toBe(1);
  const ofOthers = effects.findIndex(({ host, what }) => host !== 'gpu-1' && what === 'drain');
  expect(effects.slice(0, ofOthers)).toContainEqual({ host: 'gpu-1', what: 'undrain' });
  expect(mostDown).toBeGreaterThan(away.length + 1);
  expect(mostDown).toBeLessThanOrEqual(mostUnavailable);
  expect(configured()).toHaveLength(count - away.length - failing.length);
  expect(said).toMatch(/gpu-3, gpu-30 .*unreachable/);
  expect(said).toMatch(/gpu-7, gpu-25 .*failed/);
});

test('--rerun failed does what failed, and nothing else', async () => {
  for (const name of away) await fleet.back(name);
  for (const name of failing) fleet.host(name).fails = undefined;
  watch();
  const { code } = await provision('--rerun', 'failed');
  expect(code).toBe(0);
  expect(touched().toSorted()).toEqual([...away, ...failing].toSorted());
  expect(configured()).toHaveLength(count);
});

test(
  'killed at ten random effects and run again, it ends in the same state',
  { timeout: 900_000 },
  async () => {
    const before = states();
    removeConfiguration();
    const seed = Math.floor(Math.random() * 2 ** 31);
    process.stderr.write(`seed of the kills: ${seed}\n`);
    const chance = new Chance(seed);
    // Each host is locked, drained, changed and enabled.
    const kills = Array.from({ length: 10 }, () => ({
      at: 1 + Math.floor(chance.between(0, 4 * count)),
      cut: chance.is(0.5) ? ('before' as const) : ('after' as const),
    })).toSorted((left, right) => left.at - right.at);
    let seen = 0;
    for (const { at, cut } of kills) {
      const { child } = start();
      let isOver = false;
      watch(0, () => {
        seen += 1;
        if (isOver || seen < at) return undefined;
        isOver = true;
        child.kill('SIGKILL');
        return cut;
      });
      await once(child, 'close');
      expect(child.signalCode).toBe('SIGKILL');
      expect(mostDown).toBeLessThanOrEqual(mostUnavailable);
    }
    watch();
    const { code } = await provision();
    expect(code).toBe(0);
    expect(mostDown).toBeLessThanOrEqual(mostUnavailable);
    expect(states()).toEqual(before);
    expect(fleet.hosts.filter(({ drains, isLocked }) => drains.length > 0 || isLocked)).toEqual([]);
  },
);
