import type { CommandSpec } from '../../command.ts';

/** What comes before there is a fleet. */
export const startCommands: readonly CommandSpec[] = [
  {
    name: 'setup',
    summary: 'make an inventory by answering questions; every host is tested on the way',
    description:
      'Hosts come from ~/.ssh/config or are typed in. Nothing is changed on them before you say so.',
    options: [
      { flags: '-o, --output <file>', description: 'the inventory to write', default: 'inventory.yaml' },
    ],
    inventory: false,
    sshConfig: true,
    json: false,
    examples: [['azp-fleet setup', 'writes inventory.yaml and offers to provision']],
    load: () => import('./setup.ts'),
  },
  {
    name: 'init',
    summary: 'write a short inventory from hosts named here; asks nothing, overwrites nothing',
    description:
      'A host is an entry of ~/.ssh/config, an address, user@address:port or name=user@address:port.',
    positionals: '<hosts...>',
    options: [
      { flags: '-o, --output <file>', description: 'the inventory to write', default: 'inventory.yaml' },
      { flags: '--organization <url>', description: 'https://dev.azure.com/NAME, or a Server collection' },
      { flags: '--pool <name>', description: 'the agent pool', default: 'gpu-lab' },
      {
        flags: '--project <name>',
        description: 'whose pipelines may use the pool; repeatable',
        repeat: true,
      },
    ],
    inventory: false,
    sshConfig: true,
    examples: [
      ['azp-fleet init h200-1 h200-2 --organization https://dev.azure.com/example', 'hosts of ~/.ssh/config'],
      ['azp-fleet init rtx=admin@192.0.2.7:2222 -o lab.yaml', 'a host by its address'],
    ],
    json: ['file'],
    load: () => import('./init.ts'),
  },
  {
    name: 'completion',
    summary: 'print the completion script for bash, zsh or fish',
    positionals: '<shell>',
    inventory: false,
    examples: [
      ['source <(azp-fleet completion bash)', 'completion for this shell'],
      ['azp-fleet completion fish > ~/.config/fish/completions/azp-fleet.fish', 'for good, in fish'],
    ],
    json: ['shell', 'script'],
    load: () => import('./completion.ts'),
  },
];
