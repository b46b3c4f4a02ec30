// A run is killed after each single effect of the manager's step; the next one completes it.
import { describe, expect, it } from 'vitest';

import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { Artifact, Change } from '../../../../../src/fleet/steps/change.ts';
import { managerStep } from '../../../../../src/fleet/steps/manager/step.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf } from '../../../../support/host.ts';
import { bareModel, effectsOf, factsOfModel, type ModelHost } from './model-host.ts';

const text = (content: string): Artifact => ({ kind: 'text', text: content, sha256: sha256(content) });
const unit = '[Service]\nExecStart=/opt/azp-fleet/current/node\nLoadCredential=token:/etc/azp-fleet/token\n';

interface Options {
  readonly share?: boolean;
  readonly manager?: string;
  readonly unit?: string;
  readonly token?: string;
  readonly password?: string;
  readonly ca?: string;
  /** The address of the webhook. */
  readonly hook?: string;
}

function desired({ share = false, ca, hook, ...options }: Options): Desired {
  const webhook = { url: { env: 'HOOK' }, offlineS: 600, queueWaitS: 1800 };
  const plain = desiredOf({ share, ...(hook === undefined ? {} : { webhook }) });
  return {
    ...plain,
    artifacts: {
      ...plain.artifacts,
      runtime: () => text('node'),
      manager: text(options.manager ?? 'bundle'),
      unit: options.unit ?? unit,
    },
    credentialDigest: () => sha256(options.token ?? 'pat'),
    registries:
      options.password === undefined
        ? { names: [], digest: undefined }
        : { names: ['r.lab'], digest: () => sha256(options.password ?? '') },
    webhookDigest: hook === undefined ? undefined : () => sha256(hook),
    proxy: { noProxy: [], ...(ca === undefined ? {} : { caPem: ca }) },
  };
}

const plan = (host: ModelHost, options: Options): readonly Change[] =>
  [...managerStep.plan(factsOfModel(host), desired(options))] as Change[];

const effects = (host: ModelHost, options: Options) =>
  plan(host, options).flatMap((change) => effectsOf(change, desired(options)));

const after = (host: ModelHost, options: Options, count = Number.POSITIVE_INFINITY): ModelHost =>
  effects(host, options)
    .slice(0, count)
    .reduce((seen, effect) => effect(seen), host);

/** Expects a manager that runs with the desired files and left no partial files. */
function expectWhole(host: ModelHost, options: Options): void {
  const left = Object.keys(host.disk).filter(
    (path) => path.endsWith('.part') || path.endsWith('.next') || path === '',
  );
  const started = host.process;
  expect({ left, plan: plan(host, options).map(({ title }) => title) }).toEqual({ left: [], plan: [] });
  expect(started).toEqual(after(bareModel, options).process);
  expect(host.disk[HostPaths.token]).toBe(sha256(options.token ?? 'pat'));
}

const optionSets: readonly [string, Options][] = [
  ['another configuration', { share: true }],
  ['another version', { manager: 'newer bundle' }],
  ['another unit', { unit: `${unit}Restart=always\n` }],
  ['another credential', { token: 'other' }],
  ['a certificate authority', { ca: 'PEM' }],
  ['the password of a registry', { password: 'secret' }],
  ['a webhook', { hook: 'address' }],
  ['everything', { share: true, manager: 'b', unit: `${unit}A=b\n`, token: 't', ca: 'PEM', password: 's' }],
];

describe('a run that is killed after one effect of the manager’s step', () => {
  it('leaves a bare host that the next run completes', () => {
    const count = effects(bareModel, {}).length;
    expect(count).toBeGreaterThan(12);
    for (let kill = 0; kill <= count; kill += 1) expectWhole(after(after(bareModel, {}, kill), {}), {});
  });

  it.each(optionSets)('leaves a host that the next run completes: %s', (_, options) => {
    const before = after(bareModel, {});
    const count = effects(before, options).length;
    for (let kill = 0; kill <= count; kill += 1)
      expectWhole(after(after(before, options, kill), options), options);
  });

  it.each(optionSets)('leaves a host that a run with the earlier options restores: %s', (_, options) => {
    const before = after(bareModel, {});
    const count = effects(before, options).length;
    for (let kill = 0; kill <= count; kill += 1) expectWhole(after(after(before, options, kill), {}), {});
  });

  it.each(optionSets)(
    'leaves a host that the next run completes after a restart of the manager: %s',
    (_, options) => {
      const before = after(bareModel, {});
      const [restart] = effects(before, { share: true }).slice(-1);
      const count = effects(before, options).length;
      for (let kill = 0; kill <= count; kill += 1) {
        const killed = after(before, options, kill);
        expectWhole(after(restart?.(killed) ?? killed, options), options);
      }
    },
  );

  it('leaves a host that the next run completes after another certificate authority was installed', () => {
    const options = { ca: 'PEM' };
    const before = after(bareModel, options);
    const [restart] = effects(before, { share: true }).slice(-1);
    const byHand = { ...before, disk: { ...before.disk, [HostPaths.caBundle]: 'another' } };
    const broken = restart?.(byHand) ?? byHand;
    const count = effects(broken, options).length;
    for (let kill = 0; kill <= count; kill += 1)
      expectWhole(after(after(broken, options, kill), options), options);
  });

  it('is found with an older manager that does not report what it was started with', () => {
    const { process, ...host } = after(bareModel, {});
    const silent = { ...host, process: { configHash: process?.configHash ?? '', program: '' } };
    expect(plan(silent, {}).map(({ why }) => why)).toEqual([
      'the manager was started with an earlier version',
    ]);
  });
});
