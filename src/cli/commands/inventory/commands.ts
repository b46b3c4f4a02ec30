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
];
