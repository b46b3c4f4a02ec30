import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Transaction } from '../../../../src/fleet/packages/transaction.ts';
import type { Change } from '../../../../src/fleet/steps/change.ts';
import {
  isPackageChange,
  refinePackages,
  simulationOf,
} from '../../../../src/fleet/steps/packages/refine.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { afterwards as afterwardsOf, lines, plan as planOf } from './host-stack-plan.ts';
import { toy, toyPlatform } from './toy-packages.ts';
import { bareLines } from './host-stack-lines.ts';

const root = join(import.meta.dirname, '../../../..');

/** Programs, folders and names of package managers and distributions. */
const foreign =
  /\b(apt|apt-\w+|dpkg|dpkg-\w+|debs?|dnf|yum|rpms?|zypper|debconf|debian|ubuntu|rhel|rocky|fedora|suse)\b|sources\.list|keyrings|yum\.repos|update-(ca-certificates|ca-trust|initramfs|alternatives)|dracut|ca-certificates|linux-headers|kernel-devel|docker\.io|versionlock/i;

it.each(globSync('src/fleet/steps/**/*.ts', { cwd: root }))('%s names no package manager', (file) => {
  // mirrors.apt is for the agents' image, not for the host.
  const text = readFileSync(join(root, file), 'utf8').replaceAll('mirrors.apt', '');
  expect(foreign.exec(text)?.[0]).toBeUndefined();
});

describe('a system with another package manager', () => {
  const os = { id: 'toy', idLike: [], versionId: '1', codename: '', pretty: 'Toy 1' };
  const bare = factsOf({ os, packages: {} });
  const defaults = desiredOf();
  let plan: typeof planOf;
  let afterwards: typeof afterwardsOf;

  beforeAll(async () => {
    vi.doMock(import('../../../../src/fleet/packages/distribution.ts'), () => ({
      packageManagers: [toy],
      platformOf: ({ os: { id } }) => (id === 'toy' ? toyPlatform : undefined),
      unsupported: () => ({ what: 'not supported', next: 'take Toy 1' }),
    }));
    vi.resetModules();
    ({ plan, afterwards } = await import('./host-stack-plan.ts'));
  });
  afterAll(() => {
    vi.doUnmock('../../../../src/fleet/packages/distribution.ts');
    vi.resetModules();
  });

  function scripts(facts: Facts, desired = defaults): Map<string, string> {
    const changes = plan(facts, desired).filter(
      (item): item is Change => !('refused' in item) && item.kind === 'change',
    );
    return new Map(
      changes.flatMap(({ title, actions }) =>
        actions.flatMap((action) => (action.kind === 'run' ? [[title, action.script] as const] : [])),
      ),
    );
  }

  function transaction(facts: Facts, title: string): Transaction {
    const script = scripts(facts).get(title) ?? '';
    const [, words = ''] = /^toy install (.*)$/m.exec(script) ?? [];
    return JSON.parse(words) as Transaction;
  }

  it('has the same plan as Debian', () => {
    expect(lines(plan(bare, defaults))).toEqual(bareLines);
  });

  it.each([
    ['bare', bare],
    ['with nouveau', factsOf({ ...bare, driver: { nouveau: true } })],
    ['with its own engine', factsOf({ ...bare, packages: { 'toy-engine': '20.10.24' } })],
  ])('ends up to date: %s', (_, facts) => {
    expect(plan(afterwards(facts, defaults), defaults)).toEqual([]);
  });

  it('gets scripts that name no other package manager', () => {
    const desired = desiredOf({}, { proxy: { noProxy: [], caPem: 'PEM' } });
    const seen = { ...bare, driver: { ...bare.driver, nouveau: true } };
    const found = [...scripts(seen, desired)].map(([title, text]) => [title, foreign.exec(text)?.[0]]);
    expect(found.length).toBeGreaterThan(8);
    expect(found.filter(([, word]) => word !== undefined)).toEqual([]);
  });

  it("gets scripts for sources, holds and the site's certificate authority", () => {
    const loose = { ...afterwards(bare, defaults), held: [] };
    const site = desiredOf({}, { proxy: { noProxy: [], caPem: 'PEM' } });
    expect(scripts(bare).get('add Docker package repository')).toMatch(/^toy source docker$/m);
    expect(scripts(loose).get('hold the NVIDIA driver packages')).toMatch(
      /^toy hold toy-driver toy-open-modules-580$/m,
    );
    expect(scripts(loose, site).get("trust the site's certificate authority")).toBe('toy trust "PEM"');
  });

  it('gets exact versions and removable packages', () => {
    const old = factsOf({ ...bare, packages: { 'toy-engine': '20.10.24', 'toy-old-driver': '1' } });
    expect(transaction(old, 'change to Docker Engine 29.7.2')).toMatchObject({
      vendor: 'docker',
      packages: expect.arrayContaining([{ name: 'docker-ce', version: { release: '29.7.2' } }]) as unknown,
      remove: ['toy-engine'],
      mayRemove: ['docker*', 'containerd*'],
    });
    expect(transaction(old, 'install NVIDIA driver 580 (open kernel modules, compute only)')).toMatchObject({
      vendor: 'nvidia',
      packages: [
        { name: 'toy-driver', version: { branch: '580' } },
        { name: 'toy-open-modules-580', version: { branch: '580' } },
      ],
      sameVersion: true,
      siblings: ['toy-*'],
      optional: ['toy-daemon'],
      remove: ['toy-old-driver'],
      mayRemove: ['toy-old*'],
      before: 'toy prepare',
    });
  });

  it('gets a simulation, and a limit from its answer', () => {
    const pending = plan(bare, defaults).filter(isPackageChange);
    const { script, read } = simulationOf(pending, bare, defaults, {}) ?? { script: '', read: () => ({}) };
    const ids = pending.map(({ id }) => id);
    expect(ids.length).toBe(3);
    expect(script).toBe(`toy ask ${JSON.stringify([ids, ['nvidia', 'docker', 'nvidia-container-toolkit']])}`);
    expect(read('no output')).toMatchObject({ [ids[0] ?? '']: { kind: 'unknown', why: 'no output' } });
    const [change] = refinePackages(pending, {
      answers: {
        [ids[0] ?? '']: {
          kind: 'value',
          value: {
            removes: [{ name: 'toy-desktop', from: '1' }],
            installs: [],
            upgrades: [],
            downgrades: [],
            kept: [],
          },
        },
      },
      final: false,
    });
    const [action] = change !== undefined && 'actions' in change ? change.actions : [];
    expect(action?.kind === 'run' ? action.script : '').toContain(
      '"bound":{"removes":["toy-desktop"],"downgrades":[]}',
    );
  });

  // apt would remove no package if one name were unknown.
  it.each([
    ['toy away podman if', { podman: '5.4.2' }],
    ['toy away podman podman-docker if', { podman: '5.4.2', 'podman-docker': '5.4.2' }],
  ])('names the command that removes installed packages: %s', (begin, packages) => {
    const [refused] = plan(factsOf({ ...bare, gpus: [], packages, docker: { podman: true } }), defaults);
    expect(refused).toMatchObject({ next: expect.stringContaining(begin) as string });
  });

  it('is used by the fact script', async () => {
    const { factProbes } = await import('../../../../src/fleet/facts/gather.ts');
    const text = factProbes({ root: machineRoot }).map(({ name, script }) => `${name}: ${script}`);
    const where = (word: string) =>
      text.filter((each) => each.includes(word)).map((each) => each.split(':')[0]);
    expect(where('toy list docker')).toEqual(['packages-toy']);
    expect(where('/toy/docker.key')).toEqual(['files']);
    expect(where('/toy/authority')).toEqual(['docker', 'files', 'site-ca']);
    expect(where('/toy/lock')).toEqual(['package-lock']);
    expect(text.filter((each) => /dpkg|\/etc\/apt/.test(each))).toEqual([]);
  });

  it('reports installed packages', async () => {
    const { parseFacts, probes } = await import('../../../../src/fleet/facts/parse.ts');
    const texts: Record<string, string> = {
      os: 'ID=toy\nVERSION_ID=1\n',
      machine: 'arch x86_64\n',
      'packages-toy': 'toy-driver@580.95.05-1\nnvidia-container-toolkit@1.20.0-1\n',
    };
    const frame = (name: string) => ({
      code: 0,
      stdout: `${texts[name] ?? ''}\nend\n`,
      stderr: '',
      durationMs: 0,
      timedOut: false,
    });
    const facts = parseFacts(new Map(probes.map(({ name }) => [name, frame(name)])));
    expect(facts.driver.userspace).toBe('580.95.05');
    expect(facts.toolkit.version).toBe('1.20.0');
  });
});
