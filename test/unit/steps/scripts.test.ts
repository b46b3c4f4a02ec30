import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { machineRoot } from '../../../src/base/machine/host-root.ts';
import { factProbes } from '../../../src/facts/gather.ts';
import { platformOf } from '../../../src/packages/distribution.ts';
import { dockerStep } from '../../../src/steps/docker.ts';
import { driverStep } from '../../../src/steps/driver.ts';
import { toolkitStep } from '../../../src/steps/toolkit.ts';
import { desiredOf, factsOf } from '../../support/host.ts';
import { cases } from './host-stack-cases.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-scripts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Every script that the host stack can put on a host, by name. */
const scripts = new Map<string, string>(
  factProbes({ root: machineRoot }).map(({ name, script }) => [`probe-${name}`, script]),
);
const ubuntu = { id: 'ubuntu', versionId: '22.04', codename: 'jammy' };
const packages = { 'docker.io': '20.10.24', runc: '1.1', 'nvidia-driver-pinning-570': '570' };
const proxy = { http: 'http://proxy:3128', noProxy: ['.lab', '10.0.0.0/8'], caPem: "it's a certificate" };
const states = [
  ...cases.map(([, facts]) => facts),
  factsOf(),
  factsOf({ packages: { 'nvidia-driver-cuda': '580.1.2-1', 'nvidia-kernel-open-dkms': '580.1.2-1' } }),
  factsOf({ docker: { active: true, serverVersion: '24.0.9', daemonJson: '{"a": "it\'s"}' } }),
  factsOf({ os: ubuntu, driver: { nouveau: true }, packages }),
];
for (const facts of states) {
  for (const step of [driverStep, dockerStep, toolkitStep]) {
    for (const item of step.plan(facts, desiredOf({}, { proxy }))) {
      if ('refused' in item || !item.known) continue;
      // The later states write some kinds of script differently; one of each kind and package manager is checked.
      const kind = `${platformOf(facts)?.packages.name}-${item.id.replace(/-[0-9a-f]{10}$/, '')}`;
      for (const action of item.actions) if (action.kind === 'run') scripts.set(kind, action.script);
    }
  }
}
const files = [...scripts].map(([name, text]) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
});

describe('the scripts for hosts', () => {
  it('are valid for the plainest shell there is', () => {
    const broken = files.filter((file) => spawnSync('/bin/sh', ['-n', file]).status !== 0);
    expect(broken).toEqual([]);
  });

  it('give shellcheck nothing to say', ({ annotate }) => {
    // SC2034, SC2317, SC2329: the shared prelude holds functions and variables that not every script calls.
    const args = ['--shell=sh', '--exclude=SC2034,SC2317,SC2329', ...files];
    const { error, stdout } = spawnSync('shellcheck', args, { encoding: 'utf8' });
    if (error !== undefined) return annotate('shellcheck is not installed: only the syntax was checked');
    expect(stdout).toBe('');
    return undefined;
  });

  it('quote what comes from the inventory', () => {
    const mirrors = { docker: "http://mirror/it's; touch /tmp/owned" };
    const [source] = [...dockerStep.plan(factsOf(), desiredOf({}, { mirrors }))];
    const script =
      source !== undefined && 'actions' in source && source.actions[0]?.kind === 'run'
        ? source.actions[0].script
        : '';
    const outside = script.replaceAll(/'(?:[^']|'\\'')*'/g, '');
    expect(script).toContain('touch /tmp/owned');
    expect(outside).not.toContain('touch');
  });
});
