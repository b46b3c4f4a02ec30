import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { defineConfig } from 'vitest/config';

import { LabSequencer } from './test/lab/support/shards.ts';

/** Files run side by side, each with hosts of its own: most of their time they wait for hosts. */
const lab = {
  pool: 'forks',
  globalSetup: ['practice/lab/test-run.ts', 'test/support/temporary-folder.ts'],
  // Limits for what hangs: on a busy machine the first file that needs provisioned hosts waits long for their snapshot.
  testTimeout: 3_600_000,
  hookTimeout: 3_600_000,
  expect: { poll: { timeout: 900_000, interval: 200 } },
} as const;

const unit = {
  // Not threads: a program that a test writes is "busy" while another thread of the same process forks.
  pool: 'forks',
  setupFiles: ['test/support/real-timers.ts'],
  globalSetup: ['test/support/temporary-folder.ts'],
  // Limits for what hangs, not for what a busy machine makes slow.
  testTimeout: 1_800_000,
  hookTimeout: 1_800_000,
  expect: { poll: { timeout: 180_000, interval: 20 } },
} as const;

/** They need their own modules: one that an earlier file of the same process has loaded is no longer replaced. */
const replaceModules = readdirSync('test/unit', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test/unit', name))
  .filter((file) => readFileSync(file, 'utf8').includes('vi.mock('));

/** apt's resolver takes minutes on four systems: `npm test` asks it on one of them. */
const longMatrix =
  process.env['AZP_FLEET_TEST_MATRIX'] === 'all'
    ? []
    : ['test/unit/fleet/packages/apt/resolver-{debian-13,ubuntu-2204,ubuntu-2404}.test.ts'];

export default defineConfig({
  test: {
    env: { FORCE_COLOR: '0', NO_COLOR: '1' },
    sequence: { sequencer: LabSequencer },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          exclude: [...replaceModules, ...longMatrix],
          isolate: false,
          ...unit,
        },
      },
      { test: { name: 'unit-replaced-modules', include: replaceModules, ...unit } },
      {
        test: {
          name: 'package',
          include: ['test/package/*.test.ts'],
          pool: 'forks',
          globalSetup: ['test/support/temporary-folder.ts'],
          // Limits for what hangs, too.
          testTimeout: 1_800_000,
          hookTimeout: 900_000,
          expect: { poll: { timeout: 300_000, interval: 20 } },
        },
      },
      { test: { name: 'lab-core', include: ['test/lab/*.test.ts'], ...lab } },
      { test: { name: 'lab-long', include: ['test/lab/long/*.test.ts'], ...lab } },
    ],
  },
});
