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
    name: 'inventory import',
    summary: 'hosts of an Ansible inventory, of Terraform or of ~/.ssh/config for an inventory',
    description:
      'Shows what would be written, and what not and why; --write writes it. An inventory that is there keeps what it has, with its comments; of Ansible hosts, groups and how hosts are reached are taken, of Terraform the output azp_fleet_hosts, or machines of Google Cloud, Azure and AWS.',
    options: [
      { flags: '--ansible <file>', description: 'an inventory of Ansible, INI or YAML' },
      { flags: '--terraform <file>', description: 'what terraform output -json, or show -json, printed' },
      { flags: '--ssh', description: "the hosts that ssh's configuration names; --ssh-config: in this file" },
      { flags: '-o, --output <file>', description: 'the inventory', default: 'inventory.yaml' },
      { flags: '--write', description: 'write it' },
      { flags: '--organization <url>', description: 'of a new inventory: https://dev.azure.com/NAME' },
      { flags: '--pool <name>', description: 'of a new inventory: the agent pool', default: 'gpu-lab' },
      {
        flags: '--project <name>',
        description: 'of a new inventory: whose pipelines; repeatable',
        repeat: true,
      },
    ],
    inventory: false,
    sshConfig: true,
    examples: [
      ['azp-fleet inventory import --ssh', 'what ~/.ssh/config would bring'],
      ['azp-fleet inventory import --ansible hosts.ini -o lab.yaml --write', 'moving from Ansible'],
      ['azp-fleet inventory import --terraform hosts.json', 'after terraform output -json > hosts.json'],
    ],
    json: ['file', 'written', 'hosts', 'leftOut'],
    load: () => import('./import.ts'),
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
