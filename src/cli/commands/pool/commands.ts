import type { CommandSpec } from '../../command.ts';

/** Pools of the organisation; hosts are not contacted. Without names: all pools of the inventory. */
export const poolCommands: readonly CommandSpec[] = [
  {
    name: 'pool list',
    summary: 'the agent pools: agents, waiting jobs, and which projects may use them',
    positionals: '[pools...]',
    examples: [['azp-fleet pool list', 'the pools that the inventory names']],
    json: ['pools'],
    load: () => import('./list.ts'),
  },
  {
    name: 'pool create',
    summary: 'make the pools that do not exist yet, without automatic agent updates',
    positionals: '[pools...]',
    examples: [['azp-fleet pool create gpu-hopper', 'one pool, before any host uses it']],
    json: ['changes'],
    load: () => import('./create.ts'),
  },
  {
    name: 'pool authorize',
    summary: 'make the pools known in the projects and permit their pipelines to use them',
    positionals: '[pools...]',
    options: [
      {
        flags: '--project <name>',
        description: 'these projects instead of those of the inventory; repeatable',
        repeat: true,
      },
    ],
    examples: [['azp-fleet pool authorize gpu-hopper --project vision', 'one pool for one project']],
    json: ['changes'],
    load: () => import('./authorize.ts'),
  },
  {
    name: 'pool prune',
    summary: 'remove agents from the pools that no slot of the inventory stands for any more',
    description:
      'Only agents that azp-fleet registered, under the names of these hosts, offline, without a job, and all that twice, three minutes apart.',
    positionals: '[hosts...]',
    options: [
      { flags: '--dry-run', description: 'show what would go' },
      {
        flags: '--gone <host>',
        description: 'also all agents of this host, which the inventory does not name any more; repeatable',
        repeat: true,
      },
      {
        flags: '--agent-name <pattern>',
        description: 'agentName of the --gone hosts; default: the patterns that the inventory has',
      },
    ],
    examples: [
      ['azp-fleet pool prune --dry-run', 'what is left over'],
      ['azp-fleet pool prune --gone h100-3', 'after a host was given away'],
    ],
    json: ['leftovers', 'pruned'],
    load: () => import('./prune.ts'),
  },
];
