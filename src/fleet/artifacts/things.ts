import type { Desired } from '../steps/step.ts';

/** Where all that is brought to hosts comes from: the network, or a bundle. */
export interface Things {
  readonly artifacts: Desired['artifacts'];
  /** What hosts would fetch themselves; absent: they do. */
  readonly supplies?: NonNullable<Desired['supplies']>;
  /** Makes the files that uploads to hosts of this `uname -m` need. */
  readonly prepare: (arch: string) => Promise<void>;
}
