import type { CommandSpec } from './command.ts';

/** Commands on agent images. Only the managers build and pull them; these commands show state and send requests. */
export const imageCommands: readonly CommandSpec[] = [
  {
    name: 'image list',
    offline: true,
    summary: 'list CUDA base images with the driver and GPUs that each requires',
    inventory: false,
    examples: [['azp-fleet image list', 'all base images']],
    json: ['arch', 'repository', 'flavour', 'cuda', 'cpu', 'cudaOfDriver'],
    load: async () => (await import('./commands/image.ts')).runList,
  },
  {
    name: 'image which',
    summary: 'show which image each host gets, why, and which one it has',
    positionals: '[targets...]',
    examples: [
      ['azp-fleet image which', 'every host'],
      ['azp-fleet image which h200-1', 'one host'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/image.ts')).runWhich,
  },
  {
    name: 'image build',
    summary: 'build the agent image on these hosts now, or pull it if the inventory names one',
    description:
      'The manager builds with its current configuration; after a change of the inventory run provision. Agents keep the old image until the new one is ready; then idle ones move to it.',
    positionals: '<hosts...>',
    options: [{ flags: '--fresh', description: 'build without cache, and pull the base image again' }],
    examples: [
      ['azp-fleet image build h200-1', 'again, after a failure was fixed'],
      ['azp-fleet image build h200-1 --fresh', 'with the newest base image and packages'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/image.ts')).runBuild,
  },
];

/** Commands on the archive for closed networks. */
export const bundleCommands: readonly CommandSpec[] = [
  {
    name: 'bundle',
    summary: 'create a bundle with everything that hosts without internet need, or show one',
    description:
      'Reads the hosts, downloads packages, images, Node and the manager for them, and checks signatures. "provision --bundle FILE" then needs only SSH and Azure DevOps. Needs Docker on this machine.',
    positionals: '[hosts...]',
    options: [
      { flags: '-o, --out <file>', description: 'the file to write' },
      {
        flags: '--for <system>',
        description:
          'for hosts of this system, e.g. debian-12/x86_64, instead of reading the hosts; repeatable',
        repeat: true,
      },
      {
        flags: '--kernel <release>',
        description: 'with --for: also the headers of this kernel (uname -r); repeatable',
        repeat: true,
      },
      { flags: '--show <file>', description: 'show the content of a bundle, and verify it' },
      { flags: '--parallel <n>', description: 'hosts at the same time', default: '20' },
    ],
    examples: [
      ['azp-fleet bundle inventory.yaml -o site.bundle', 'for all hosts, read over SSH'],
      ['azp-fleet bundle -o site.bundle --for ubuntu-24.04/x86_64', 'for hosts that cannot be reached'],
      ['azp-fleet bundle --show site.bundle', 'its content'],
    ],
    json: ['file', 'bundle'],
    load: async () => (await import('./commands/bundle.ts')).run,
  },
];

/** Commands on pools of the organization; they contact no host. Without names: all pools of the inventory. */
export const poolCommands: readonly CommandSpec[] = [
  {
    name: 'pool list',
    summary: 'the agent pools: agents, waiting jobs, and which projects may use them',
    positionals: '[pools...]',
    examples: [['azp-fleet pool list', 'the pools that the inventory names']],
    json: ['pools'],
    load: async () => (await import('./commands/pool.ts')).runList,
  },
  {
    name: 'pool create',
    summary: 'create missing pools, without automatic agent updates',
    positionals: '[pools...]',
    examples: [['azp-fleet pool create gpu-hopper', 'one pool, before any host uses it']],
    json: ['changes'],
    load: async () => (await import('./commands/pool.ts')).runCreate,
  },
  {
    name: 'pool authorize',
    summary: 'permit the pipelines of projects to use the pools',
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
    load: async () => (await import('./commands/pool.ts')).runAuthorize,
  },
  {
    name: 'pool prune',
    summary: 'remove agents from the pools that belong to no slot of the inventory',
    description:
      'Removes only agents that azp-fleet registered under the names of these hosts and that are offline and without a job in two checks, three minutes apart; also those that a host registered under a former name. Agents of owners that are not in the inventory are listed and stay.',
    positionals: '[hosts...]',
    options: [
      { flags: '--dry-run', description: 'show what would be removed' },
      {
        flags: '--gone <host>',
        description: 'also all agents of this host, which is no longer in the inventory; repeatable',
        repeat: true,
      },
      {
        flags: '--agent-name <pattern>',
        description: 'agentName of the --gone hosts; default: the patterns in the inventory',
      },
    ],
    examples: [
      ['azp-fleet pool prune --dry-run', 'agents without a slot'],
      ['azp-fleet pool prune --gone h100-3', 'after a host was decommissioned'],
    ],
    json: ['leftovers', 'pruned', 'unknownOwners'],
    load: async () => (await import('./commands/pool-prune.ts')).run,
  },
];
