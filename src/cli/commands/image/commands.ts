import type { CommandSpec } from '../../command.ts';

/** Agent images. The managers alone build and pull them; these commands look and ask. */
export const imageCommands: readonly CommandSpec[] = [
  {
    name: 'image list',
    summary: 'the CUDA bases that agent images are built upon, and what each asks of driver and GPUs',
    inventory: false,
    examples: [['azp-fleet image list', 'the table that the choice is made from']],
    json: ['arch', 'repository', 'flavour', 'cuda', 'cpu', 'cudaOfDriver'],
    load: () => import('./list.ts'),
  },
  {
    name: 'image which',
    summary: 'which image each host gets, why, and which one is there',
    positionals: '[targets...]',
    examples: [
      ['azp-fleet image which', 'every host'],
      ['azp-fleet image which h200-1', 'one host'],
    ],
    json: ['hosts'],
    load: () => import('./which.ts'),
  },
  {
    name: 'image build',
    summary: 'build the agent image on these hosts now, or pull it where the inventory names one',
    description:
      'The manager does it, as it is configured; after a change of the inventory: provision. Agents go on with the image that is there, then idle ones move to the new one.',
    positionals: '<hosts...>',
    options: [{ flags: '--fresh', description: 'nothing from the cache, and the base looked up again' }],
    examples: [
      ['azp-fleet image build h200-1', 'again, after its failure was cured'],
      ['azp-fleet image build h200-1 --fresh', "with the base's and the packages' newest versions"],
    ],
    json: ['hosts'],
    load: () => import('./build.ts'),
  },
];
