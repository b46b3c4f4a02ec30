import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { ownerId } from '../../../../src/shared/azure/pools/agents.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import { managerProbe } from '../../../../src/fleet/facts/probes/manager.ts';
import { StateStore } from '../../../../src/manager/state.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'state-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns the installation that the facts script finds in this folder instead of the manager's. */
function found(): string | undefined {
  const script = managerProbe.script({ root: machineRoot }).replaceAll(HostPaths.state, folder);
  const stdout = execFileSync('sh', ['-c', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return managerProbe.parse(stdout).installation;
}

test('the facts find the installation that the manager uses, also if its state is damaged', async () => {
  expect(found()).toBeUndefined();
  const store = await StateStore.open(folder, 'machine');
  await store.update(() => ({ jobsRun: { '0': 1 } }));
  const { installation } = store.value;
  expect(found()).toBe(installation);
  expect(store.owner).toBe(ownerId('machine', installation));
  const file = join(folder, 'manager.json');
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 20));
  expect(found()).toBe(installation);
  expect((await StateStore.open(folder, 'machine')).value.installation).toBe(installation);
});
