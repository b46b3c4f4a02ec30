import type { CommandSpec } from '../../command.ts';

/** What comes before there is a fleet. */
export const startCommands: readonly CommandSpec[] = [
  {
    name: 'setup',
    summary: 'make an inventory by answering questions; every host is tested on the way',
    description:
      'Hosts come from ~/.ssh, or are typed or pasted. Nothing is changed on them before you say so. Esc goes back one question; Ctrl-C stops, and the next start goes on from the answers. Without a terminal, or with --yes, nothing is asked: answers come from options and --answers (docs/setup.md).',
    options: [
      { flags: '-o, --output <file>', description: 'the inventory to write', default: 'inventory.yaml' },
      { flags: '--add <host>', description: 'add this host to the inventory; repeatable', repeat: true },
      { flags: '--host <host>', description: 'a host, as it is typed; repeatable', repeat: true },
      { flags: '--organization <url>', description: 'its name, or any address of it' },
      {
        flags: '--project <name>',
        description: 'whose pipelines may use the pool; repeatable',
        repeat: true,
      },
      { flags: '--token-env <name>', description: 'the access token is in this variable' },
      { flags: '--token-file <file>', description: 'the access token is in this file of mode 0600' },
      { flags: '--token-cmd <command>', description: 'this command prints the access token' },
      { flags: '--expires <date>', description: 'when the token expires, such as 2027-05-31' },
      { flags: '--pool <name>', description: 'the agent pool' },
      { flags: '--agents <number>', description: 'agents on each host, or one-per-gpu' },
      {
        flags: '--dataset <folder>',
        description: 'a folder of the hosts for jobs; repeatable',
        repeat: true,
      },
      { flags: '--unready <what>', description: 'hosts that are not ready: keep or drop' },
      { flags: '--answers <file>', description: 'YAML with the answer to any question, by its key' },
      { flags: '--provision', description: 'provision the hosts once the inventory is written' },
      {
        flags: '--test-pipeline <id>',
        description: 'once they are provisioned, run this pipeline (definitionId= in its address) to its end',
      },
    ],
    inventory: false,
    sshConfig: true,
    json: false,
    examples: [
      ['azp-fleet setup', 'writes inventory.yaml and offers to provision'],
      ['azp-fleet setup --add admin@192.0.2.9', 'one more host in inventory.yaml'],
      ['azp-fleet setup --yes --answers answers.yaml', 'nothing is asked'],
    ],
    load: () => import('./setup.ts'),
  },
  {
    name: 'init',
    summary: 'write a short inventory from hosts named here; asks nothing, overwrites nothing',
    description:
      'A host is an entry of ~/.ssh/config, an address, user@address:port or name=user@address:port.',
    positionals: '<hosts...>',
    arguments: {
      hosts: 'entries of ~/.ssh/config, ADDRESS, USER@ADDRESS:PORT, or NAME= before one of these',
    },
    options: [
      { flags: '-o, --output <file>', description: 'the inventory to write', default: 'inventory.yaml' },
      {
        flags: '--organization <url>',
        description: 'needed: its name, https://dev.azure.com/NAME, or a Server collection',
      },
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
      ['azp-fleet init rtx=admin@192.0.2.7:2222 --organization example -o lab.yaml', 'a host by its address'],
    ],
    json: ['file'],
    load: () => import('./init.ts'),
  },
  {
    name: 'completion',
    summary: 'print the completion script for bash, zsh or fish',
    description:
      'It completes commands, options, topics of help, files, and what the inventory names: hosts, groups, labels, slots, pools. At each Tab it asks for what fits: azp-fleet completion SHELL -- WORDS, the last word as far as it is typed.',
    positionals: '<shell>',
    inventory: false,
    examples: [
      ['source <(azp-fleet completion bash)', 'completion for this shell'],
      ['azp-fleet completion fish > ~/.config/fish/completions/azp-fleet.fish', 'for good, in fish'],
    ],
    json: ['shell', 'script', 'paths', 'offers'],
    load: () => import('./completion.ts'),
  },
  {
    name: 'version',
    summary: 'print the version, that of what is said to managers, and the Node that runs it',
    inventory: false,
    examples: [['azp-fleet version', 'what a report of a mistake should begin with']],
    json: ['protocol', 'node', 'platform', 'arch', 'hostsNode'],
    load: () => import('./version.ts'),
  },
];
