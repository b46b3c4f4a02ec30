import { defineConfig } from 'vitest/config';

/** The tests of the pure core alone: what StrykerJS runs for each damage. */
export default defineConfig({
  test: {
    env: { FORCE_COLOR: '0', NO_COLOR: '1' },
    include: [
      'test/unit/manager/reconcile.test.ts',
      'test/unit/manager/slots/holds.test.ts',
      'test/unit/fleet/plan/**/*.test.ts',
      'test/unit/fleet/status/row.test.ts',
      'test/unit/fleet/steps/disturbance.test.ts',
      'test/unit/fleet/verdict/**/*.test.ts',
    ],
  },
});
