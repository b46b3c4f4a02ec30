import type { OptionSpec } from '../command.ts';

/** For each command that takes agents away. */
export const waveOptions: readonly OptionSpec[] = [
  {
    flags: '--max-unavailable <n>',
    description:
      'hosts of each pool that lose their agents at a time, as a number or P% (25%), over what the inventory says; 100%: all',
  },
  {
    flags: '--max-failures <n>',
    description: 'hosts that may fail, as a number or P% (0), before no more are begun',
  },
];
