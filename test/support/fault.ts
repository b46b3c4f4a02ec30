import { test } from 'vitest';

import { defined } from '../../src/shared/base/objects.ts';
import type { FaultId } from '../../scripts/faults-page.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The row of docs/faults.md that the test shows. */
    fault?: FaultId;
  }
}

/** Declares a test that causes a fault of docs/faults.md; the page is written from those that passed. */
export function fault(id: FaultId, title: string, run: () => unknown, timeoutMs?: number): void {
  test(title, { meta: { fault: id }, ...defined({ timeout: timeoutMs }) }, run);
}
