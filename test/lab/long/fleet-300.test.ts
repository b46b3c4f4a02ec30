// `provision` on 300 hosts behind real SSH servers: waves, failures, unreachable hosts, and a CLI that is killed again and again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import { systemClock } from '../../../src/shared/base/clock.ts';
import { widthOf } from '../../../src/cli/render/lines.ts';
import { runCommand } from '../../support/command.ts';
import { requireCurrentBuild } from '../../support/current-build.ts';
import { Chance } from '../../support/model/chance.ts';
import { leftOnScreen } from '../../support/screen.ts';
import { ScriptedFleet } from '../../support/scripted-fleet/fleet.ts';
import type { Cut, Effect, ScriptedHost } from '../../support/scripted-fleet/host.ts';

const count = 300;
/** `waves` of the inventory: 10 %. */
const mostUnavailable = count / 10;
const away = ['gpu-3', 'gpu-30'];
const failing = ['gpu-7', 'gpu-25'];
const root = join(import.meta.dirname, '../../..');
const children = new Set<ChildProcess>();
let fleet: ScriptedFleet;
let effects: Effect[] = [];
/** The most hosts without agents at a time, with those that cannot be reached. */
let mostDown = 0;
/** The number of effects on a host: of a new one, and of one whose agents are drained for a change. */
const effectsOf = { newHost: 0, change: 0 };

beforeAll(async () => {
  requireCurrentBuild(root);
  fleet = await ScriptedFleet.start(count);
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  expect(fleet.hosts.flatMap(({ unknown }) => unknown)).toEqual([]);
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
const namesOf = (these: (host: ScriptedHost) => boolean) =>
  fleet.hosts.flatMap((host) => (these(host) ? [host.name] : []));
const configured = () => namesOf(({ daemonJson }) => daemonJson !== undefined);

/** The state of each host, in the inventory's order. */
const states = () => fleet.hosts.map(({ state }) => state);

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
  children.add(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, said: () => said };
}

/** Waits until it has ended, and the hosts have noticed. */
async function ended(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'close')) as [number | null];
  children.delete(child);
  const left = () => ({ connections: fleet.connections, locked: namesOf(({ isLocked }) => isLocked) });
  await expect.poll(left).toEqual({ connections: 0, locked: [] });
  return code;
}

async function provision(...args: readonly string[]) {
  const { child, said } = start(...args);
  const code = await ended(child);
  return { code, said: said() };
}

/** Returns the hosts of each wave that a run has reported. */
function wavesIn(said: string): readonly (readonly string[])[] {
  return [...said.matchAll(/^wave \d+(?: \(canary\))?: (.+)$/gm)].map(([, names = '']) =>
    names.split(', ').flatMap(unfolded),
  );
}

/** The names of `gpu-[1-2,4]`. */
function unfolded(word: string): readonly string[] {
  const [, prefix = '', ranges] = /^(.*)\[(.*)\]$/.exec(word) ?? [];
  if (ranges === undefined) return [word];
  return ranges.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => `${prefix}${first + at}`);
  });
}

test('a new fleet gets its managers', async () => {
  watch();
  const { code, said } = await provision();
  expect(said).toContain(`${count} hosts: ${count} healthy`);
  expect(code).toBe(0);
  expect(configured()).toHaveLength(count);
  effectsOf.newHost = effects.length / count;
});

test('more failures than allowed stop the waves: the screen has 80 columns and says it once', async () => {
  removeConfiguration();
  for (const name of away) await fleet.leave(name);
  for (const name of failing) fleet.host(name).fails = 'docker-configure';
  watch(away.length);
  const { stdout, both, exitCode } = await runCommand(
    ['provision', '-i', fleet.inventory, '--yes', '--max-failures', '1'],
    {
      cwd: fleet.folder,
      env: fleet.env,
      terminal: { columns: 80, rows: 24 },
      clock: systemClock(1),
    },
  );
  expect(exitCode).toBe(1);
  const screen = leftOnScreen(both);
  expect(screen.filter((line) => widthOf(line) > 80)).toEqual([]);
  expect(screen.length).toBeLessThan(100);
  expect(leftOnScreen(stdout).join('\n').trimEnd().replaceAll(/:\d+$/gm, ':PORT')).toMatchInlineSnapshot(`
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
                                            (gpu-7, gpu-25), and at most 1 may
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
});

test('as many failures as allowed: a canary, then waves, each after the one before is healthy', async () => {
  removeConfiguration();
  watch(away.length);
  const { code, said } = await provision('--max-failures', '5', '--parallel', '40');
  expect(code).toBe(1);
  const waves = wavesIn(said);
  expect(waves[0]).toEqual(['gpu-1']);
  expect(waves.flat().toSorted()).toEqual(touched().toSorted());
  expect(touched()).toHaveLength(count - away.length);
  const places = (hosts: readonly string[], what: string) =>
    effects.flatMap((effect, at) => (effect.what === what && hosts.includes(effect.host) ? [at] : []));
  const overlaps = waves.filter(
    (wave, at) =>
      Math.min(...places(wave, 'drain')) < Math.max(-1, ...places(waves[at - 1] ?? [], 'undrain')),
  );
  expect(overlaps).toEqual([]);
  expect(mostDown).toBeGreaterThan(away.length + 1);
  expect(mostDown).toBeLessThanOrEqual(mostUnavailable);
  expect(configured()).toHaveLength(count - away.length - failing.length);
  expect(said).toMatch(/^gpu-3, gpu-30 .*unreachable {2}nothing listens on /m);
  expect(said).toMatch(/^gpu-7, gpu-25 .*failed .*with exit code 1$/m);
  expect(said).toContain(`${count} hosts: 296 healthy, 2 failed, 2 unreachable`);
});

test('--rerun failed does what failed, and nothing else', async () => {
  for (const name of away) await fleet.back(name);
  for (const name of failing) fleet.host(name).fails = undefined;
  watch();
  const { code, said } = await provision('--rerun', 'failed');
  expect(said).toContain('4 hosts: 4 healthy');
  expect(code).toBe(0);
  expect(touched().toSorted()).toEqual([...away, ...failing].toSorted());
  expect(configured()).toHaveLength(count);
  effectsOf.change = effects.length / touched().length;
});

/** A SIGKILL of the CLI at an effect, counted over all runs. */
interface Kill {
  readonly at: number;
  readonly cut: NonNullable<Cut>;
}

function drawKills(seed: number, among: number): readonly Kill[] {
  const chance = new Chance(seed);
  const cuts = ['before', 'during', 'after'] as const;
  const draw = (): Kill => ({
    at: 1 + Math.floor(chance.between(0, among)),
    cut: cuts[Math.floor(chance.between(0, cuts.length))] ?? 'before',
  });
  return Array.from({ length: 10 }, draw).toSorted((left, right) => left.at - right.at);
}

test('killed at ten random effects and run again, it ends in the same state', async () => {
  const before = states();
  const reinstalled = fleet.hosts.filter((_, at) => at % 10 === 9);
  for (const host of reinstalled) host.reinstall();
  removeConfiguration();
  const given = process.env['AZP_FLEET_TEST_SEED'];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  process.stderr.write(`ten kills; to repeat them: AZP_FLEET_TEST_SEED=${seed}\n`);
  const least = reinstalled.length * effectsOf.newHost + (count - reinstalled.length) * effectsOf.change;
  let seen = 0;
  for (const { at, cut } of drawKills(seed, Math.floor(0.9 * least))) {
    const { child, said } = start('--parallel', '40');
    let killed: Effect | undefined;
    watch(0, (effect) => {
      seen += 1;
      if (killed !== undefined || seen < at) return undefined;
      killed = effect;
      child.kill('SIGKILL');
      return cut;
    });
    await ended(child);
    process.stderr.write(`killed at effect ${seen}, ${cut} ${killed?.what} of ${killed?.host}\n`);
    expect(child.signalCode, said()).toBe('SIGKILL');
    expect(mostDown).toBeLessThanOrEqual(mostUnavailable);
  }
  watch();
  const { code, said } = await provision();
  expect(said).toContain(`${count} hosts: ${count} healthy`);
  expect(code).toBe(0);
  expect(mostDown).toBeLessThanOrEqual(mostUnavailable);
  expect(states()).toEqual(before);
  expect(namesOf(({ drains }) => drains.length > 0)).toEqual([]);
  expect(readdirSync(fleet.env.TMPDIR)).toEqual([]);
});
