import type { CommandSpec } from './command.ts';

/** Agent images. The manager alone builds and pulls them; these commands look. */
export const imageCommands: readonly CommandSpec[] = [
  {
    name: 'image list',
    summary: 'the CUDA bases that agent images are built upon, and what each asks of driver and GPUs',
    inventory: false,
    examples: [['azp-fleet image list', 'the table that the choice is made from']],
    load: () => import('./image-list.ts'),
  },
  {
    name: 'image which',
    summary: 'which image each host gets, why, and which one is there',
    positionals: '[targets...]',
    examples: [
      ['azp-fleet image which', 'every host'],
      ['azp-fleet image which h200-1', 'one host'],
    ],
    load: () => import('./image-which.ts'),
  },
];
