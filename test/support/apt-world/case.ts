import type { Step } from '../../../src/fleet/steps/step.ts';
import type { SystemName } from './systems.ts';
import type { Past } from './world.ts';
import type { desiredOf, factsOf } from '../host.ts';

/** What a host has been through before our first run. */
type History =
  | 'fresh'
  | 'current'
  | 'older'
  | 'newer'
  | 'held'
  | 'conflicting'
  | 'half-installed'
  | 'desktop'
  | 'display card'
  | 'kernel upgraded';

/** A host and what is configured; what follows from them is in test/fixtures/apt/tables, for this run and the one after it. */
export interface ResolverCase {
  readonly history: History;
  /** What makes it another one than those of the same history. */
  readonly what: string;
  readonly past?: Past;
  readonly facts?: Parameters<typeof factsOf>[0];
  readonly desired?: Parameters<typeof desiredOf>[0];
}

/** One subject: its steps, and what each system is put through. */
export interface Subject {
  readonly steps: readonly Step[];
  readonly cases: (on: SystemName) => readonly ResolverCase[];
}
