import type { CommandSpec } from '../../command.ts';

/** The file. Nobody is contacted. */
export const inventoryCommands: readonly CommandSpec[] = [
  {
    name: 'inventory list',
    summary: 'hosts with address, pool, agents, groups and labels',
    positionals: '[hosts...]',
    examples: [['azp-fleet inventory list --limit room=b12', 'what a pattern selects']],
    json: ['hosts'],
    load: () => import('./list.ts'),
  },
  {
    name: 'inventory show',
    summary: 'one host with every default filled in, and how it would be reached',
    positionals: '<hosts...>',
    examples: [['azp-fleet inventory show h200-1', 'also says where each SSH option came from']],
    json: ['hosts'],
    load: () => import('./show.ts'),
  },
  {
    name: 'inventory check',
    summary: 'find mistakes in the inventory without contacting anybody',
    examples: [['azp-fleet inventory check lab.yaml', 'the mistakes, each with its line and its cure']],
    json: ['file', 'organization', 'hosts', 'warnings'],
    load: () => import('./check.ts'),
  },
  {
    name: 'pipeline',
    summary: 'print azure-pipelines.yml for a pool of the inventory',
    description:
      "Kinds: gpu, a job with GPUs; matrix, the same on agents of each sort; container, a job in a container of its own; image, a job in the agents' own image; graphics, a job that renders.",
    positionals: '[pool]',
    options: [
      { flags: '--kind <kind>', description: 'gpu, matrix, container, image or graphics', default: 'gpu' },
      { flags: '-o, --output <file>', description: 'write it there; a file that exists is left alone' },
      { flags: '--replace', description: 'write over the file, and keep the old one beside it' },
    ],
    examples: [
      ['azp-fleet pipeline', 'a job with GPUs, in the pool of ./inventory.yaml'],
      ['azp-fleet pipeline gpu-lab --kind matrix -o azure-pipelines.yml', 'a job for each sort of agent'],
    ],
    json: ['pool', 'kind', 'pipeline', 'file'],
    load: () => import('./pipeline.ts'),
  },
];
