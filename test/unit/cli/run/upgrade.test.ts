// Upgrades with fake hosts: which hosts are changed, and which text the inventory has afterwards.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';

import { Options } from '../../../../src/cli/options.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import { upgradeHosts } from '../../../../src/cli/run/upgrade.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import type { PartName } from '../../../../src/fleet/upgrade/parts.ts';
import type { Transport } from '../../../../src/fleet/ssh/transport.ts';
import { quietContext } from '../../../support/command.ts';
import { merge } from '../../../support/host.ts';
import { FakeHost } from '../../fleet/apply/fake-fleet.ts';
import { change } from '../../fleet/plan/changes.ts';
import { useFake } from '../../practice/azure/server.ts';

vi.mock('../../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const fake = useFake();
const names = ['gpu1', 'gpu2', 'gpu3'] as const;
let place: string;
let machines: Record<string, FakeHost>;

const inventory = () => `organization: ${fake.server.organization} # ours
token: { file: ${fake.tokenFile} }
defaults:
  pool: gpu-lab
  driver: { branch: "570" } # until the new nodes come
hosts:
  gpu1: {} # the canary
  gpu2: { labels: { room: b12 } }
  gpu3: {}
  other: {}
`;
const upgraded = () =>
  inventory()
    .replace('gpu1: {}', 'gpu1: { driver: { branch: "580" } }')
    .replace('{ room: b12 } }', '{ room: b12 }, driver: { branch: "580" } }')
    .replace('gpu3: {}', 'gpu3: { driver: { branch: "580" } }');

beforeEach(() => {
  place = join(fake.folder, 'upgrade');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  writeFileSync(join(place, 'lab.yaml'), inventory());
  machines = Object.fromEntries(names.map((name) => [name, readyHost()]));
});

/** A host with driver 570 that needs one change. */
function readyHost(): FakeHost {
  const host = new FakeHost([change('driver', { disturbs: 'machine' })]);
  host.facts = merge(host.facts, { driver: { loaded: '570.133.20' } });
  return host;
}

const textNow = () => readFileSync(join(place, 'lab.yaml'), 'utf8');
const begun = () => names.filter((name) => machines[name]?.log.includes('driver') === true);

interface Given {
  readonly hosts?: readonly string[];
  readonly options?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly part?: PartName;
  readonly to?: string;
}

async function upgrade(given: Given = {}) {
  const { hosts = names, options = {}, signal, part = 'driver', to = '580' } = given;
  const { context, written } = quietContext({ cwd: place, ...(signal === undefined ? {} : { signal }) });
  const input = {
    positionals: hosts,
    rest: [],
    options: new Options({ yes: true, ...options }),
    inventory: 'lab.yaml',
    commandLine: `azp-fleet upgrade ${part} ${hosts.join(' ')} --to ${to}`,
    commands: [],
  };
  const own = (name: string): FakeHost => {
    const machine = machines[name];
    if (machine === undefined) throw new FleetError({ code: 'ssh.refused', what: 'connection refused' });
    return machine;
  };
  const connect = (): Transport => ({
    close: () => Promise.resolve(),
    connect: async (target) => own(target.name).tools().transport.connect(target),
  });
  const result = await upgradeHosts(
    context,
    input,
    { word: part, to, versions: new Map([[part, to]]) },
    {
      wiring: { ...overSsh, connect },
      gather: (_, host) => Promise.resolve(own(host.name).facts),
      plan: (facts, host) => own(host.name).tools().plan(facts, host),
      question: () => undefined,
    },
  );
  return { result, written };
}

describe('all hosts work', () => {
  test('the inventory has the version at the named hosts, and its comments; it is written after the canary', async () => {
    const seen: string[] = [];
    for (const name of names)
      machines[name]!.onRun = () => void seen.push(`${name}: ${textNow() === inventory()}`);
    const { result } = await upgrade();
    expect(result).toMatchObject({ exitCode: 0, problems: [] });
    expect(seen).toEqual(['gpu1: true', 'gpu2: false', 'gpu3: false']);
    expect(textNow()).toBe(upgraded());
    expect(readdirSync(place).filter((name) => name.includes('.tmp') || name.includes('.bak'))).toEqual([]);
  });

  test('one host: its value is written when it works', async () => {
    const { result } = await upgrade({ hosts: ['gpu2'] });
    expect(result).toMatchObject({
      exitCode: 0,
      json: { edits: [{ place: 'hosts.gpu2', part: 'driver', to: '580' }] },
    });
    expect(begun()).toEqual(['gpu2']);
    expect(textNow()).toBe(
      inventory().replace('{ room: b12 } }', '{ room: b12 }, driver: { branch: "580" } }'),
    );
  });

  test('hosts that have the version already: only the inventory changes', async () => {
    for (const name of names) machines[name]!.pending = [];
    const { result, written } = await upgrade();
    expect(result.exitCode).toBe(0);
    expect(begun()).toEqual([]);
    expect(textNow()).toBe(upgraded());
    expect(written.stdout).toContain('~ driver 580 at hosts: gpu[1-3]');
  });
});

describe('without success', () => {
  test('the canary fails: no other host is touched, the inventory is unchanged, and the way back is named', async () => {
    machines['gpu1']!.onRun = () => ({ code: 1, tail: 'no space left' });
    const { result } = await upgrade();
    expect(result.exitCode).toBe(1);
    expect(begun()).toEqual(['gpu1']);
    expect(textNow()).toBe(inventory());
    expect(result.problems?.at(-1)).toMatchObject({
      code: 'upgrade.left',
      host: 'gpu1',
      what: 'may have a part of driver 580, and had driver 570.133.20; nothing was undone',
      next: 'fix the cause; to continue: azp-fleet upgrade driver gpu1 gpu2 gpu3 --to 580; to go back (docs/upgrade.md): azp-fleet upgrade driver gpu1 --to 570',
    });
  });

  test('a later host fails: the earlier text comes back, and the hosts that differ from it are named', async () => {
    machines['gpu2']!.onRun = () => ({ code: 1, tail: 'no space left' });
    const { result, written } = await upgrade();
    expect(result.exitCode).toBe(1);
    expect(textNow()).toBe(inventory());
    expect(written.stderr).toContain('lab.yaml has its earlier text again');
    const left = result.problems?.filter(({ code }) => code === 'upgrade.left') ?? [];
    expect(left.map(({ host, what }) => [host, what])).toEqual([
      ['gpu1, gpu3', 'has driver 580, and had driver 570.133.20; the inventory has its earlier text'],
      ['gpu2', 'may have a part of driver 580, and had driver 570.133.20; nothing was undone'],
    ]);
  });

  test('a host that cannot be reached: nothing is begun, and the message says how to leave it out', async () => {
    delete machines['gpu3'];
    const { result, written } = await upgrade();
    expect(result).toMatchObject({ exitCode: 1, problems: [{ code: 'ssh.refused', host: 'gpu3' }] });
    expect(begun()).toEqual([]);
    expect(textNow()).toBe(inventory());
    expect(written.stderr).toContain(
      "to upgrade the others, add '!gpu3' to: azp-fleet upgrade driver gpu1 gpu2 gpu3 --to 580",
    );
  });

  test('a refused host, such as a Docker that would lose its images: nothing is begun', async () => {
    const { facts } = machines['gpu2']!;
    machines['gpu2']!.facts = merge(facts, { others: { ...facts.others, containers: ['training-of-bob'] } });
    const { result } = await upgrade();
    expect(result).toMatchObject({ exitCode: 1, problems: [{ code: 'plan.refused', host: 'gpu2' }] });
    expect(begun()).toEqual([]);
    expect(textNow()).toBe(inventory());
  });

  test('a host without the part is left to provision', async () => {
    machines['gpu2']!.facts = merge(machines['gpu2']!.facts, { driver: { loaded: undefined } });
    const { result } = await upgrade();
    expect(result.problems).toMatchObject([
      { code: 'upgrade.not-installed', host: 'gpu2', next: 'run azp-fleet provision gpu2' },
    ]);
    expect(begun()).toEqual([]);
  });

  test('an inventory that was edited during the canary is not overwritten: the run stops', async () => {
    const edited = inventory().replace('gpu3: {}', 'gpu3: { labels: { rack: 7 } }');
    machines['gpu1']!.onRun = () => {
      writeFileSync(join(place, 'lab.yaml'), edited);
      return undefined;
    };
    const { result } = await upgrade();
    expect(result.exitCode).toBe(1);
    expect(begun()).toEqual(['gpu1']);
    expect(textNow()).toBe(edited);
    expect(JSON.stringify(result.problems)).toContain('lab.yaml was edited during the upgrade');
  });

  test('a host that would have to wait for another one that is down: nothing is begun', async () => {
    const manager = { current: '1', unitActive: 'active' } as const;
    for (const name of names) machines[name]!.facts = merge(machines[name]!.facts, { manager });
    machines['gpu2']!.facts = merge(machines['gpu2']!.facts, { manager: { unitActive: 'inactive' } });
    machines['gpu2']!.pending = [];
    const { result } = await upgrade();
    expect(result).toMatchObject({ exitCode: 1, problems: [{ code: 'wave.held' }, { code: 'wave.held' }] });
    expect(begun()).toEqual([]);
  });

  test('a host that the inventory keeps out is left alone, and named', async () => {
    writeFileSync(join(place, 'lab.yaml'), inventory().replace('gpu3: {}', 'gpu3: { driver: none }'));
    const { result, written } = await upgrade();
    expect(result.exitCode).toBe(0);
    expect(begun()).toEqual(['gpu1', 'gpu2']);
    expect(written.stderr).toContain('not upgraded, because the inventory leaves this part alone: gpu3');
  });

  test('--dry-run changes nothing', async () => {
    const { result, written } = await upgrade({ options: { dryRun: true } });
    expect(result.exitCode).toBe(0);
    expect(begun()).toEqual([]);
    expect(textNow()).toBe(inventory());
    expect(written.stdout).toContain('~ driver 580 at hosts: gpu[1-3]');
  });

  test('without --yes and a terminal nothing is changed', async () => {
    await expect(upgrade({ options: { yes: false } })).rejects.toMatchObject({
      problem: { code: 'usage.no-terminal' },
    });
    expect(begun()).toEqual([]);
  });
});

describe('a run that was cut', () => {
  test('Ctrl-C after the canary: the earlier text comes back, and the same command ends like one run', async () => {
    const stop = new AbortController();
    machines['gpu2']!.onRun = () => {
      stop.abort();
      throw new Error('cut');
    };
    const { result } = await upgrade({ signal: stop.signal });
    expect(textNow()).toBe(inventory());
    expect(result.problems).toMatchObject([
      { code: 'upgrade.left', host: 'gpu1, gpu3' },
      { code: 'upgrade.left', host: 'gpu2' },
    ]);
    machines['gpu2']!.onRun = () => undefined;
    expect((await upgrade()).result.exitCode).toBe(0);
    expect(textNow()).toBe(upgraded());
  });

  test('killed after the canary: the same command ends like one run', async () => {
    await killedWhileGpu2();
    expect(textNow()).toBe(upgraded());
    const { result } = await upgrade();
    expect(result).toMatchObject({ exitCode: 0, problems: [] });
    expect(textNow()).toBe(upgraded());
    expect(readdirSync(join(place, '.local/state/azp-fleet/upgrades'))).toEqual([]);
  });

  test('killed after the canary, and then a host fails: the text from before the first run comes back', async () => {
    await killedWhileGpu2();
    machines['gpu3'] = readyHost();
    machines['gpu3'].onRun = () => ({ code: 1, tail: 'no space left' });
    const { result } = await upgrade();
    expect(result.exitCode).toBe(1);
    expect(textNow()).toBe(inventory());
  });

  /** Leaves all files as they were while the second host was changed, and that host without its change. */
  async function killedWhileGpu2(): Promise<void> {
    const copy = `${place}-killed`;
    const machine = machines['gpu2']!;
    rmSync(copy, { recursive: true, force: true });
    machine.onRun = () => {
      cpSync(place, copy, { recursive: true });
      return undefined;
    };
    await upgrade();
    rmSync(place, { recursive: true });
    renameSync(copy, place);
    machines['gpu2'] = readyHost();
  }
});
