import type { CommandSpec } from './command.ts';

/** Commands that need no inventory. */
export const startCommands: readonly CommandSpec[] = [
  {
    name: 'setup',
    group: 'Start',
    summary: 'create an inventory by answering questions; tests every host',
    description:
      'Hosts come from ~/.ssh, or are typed or pasted. Nothing is changed on them before you confirm. Esc goes back one question; Ctrl-C stops, and the next start resumes from the answers. Without a terminal, or with --yes, nothing is asked: answers come from options and --answers (docs/setup.md).',
    options: [
      { flags: '-o, --output <file>', description: 'the inventory to write', default: 'inventory.yaml' },
      { flags: '--add <host>', description: 'add this host to the inventory; repeatable', repeat: true },
      {
        flags: '--host <host>',
        description: 'a host: ADDRESS, USER@ADDRESS:PORT, or an entry of ~/.ssh/config; repeatable',
        repeat: true,
      },
      { flags: '--organization <url>', description: 'name or URL of the organization' },
      {
        flags: '--project <name>',
        description: 'project whose pipelines may use the pool; repeatable',
        repeat: true,
      },
      { flags: '--token-env <name>', description: 'environment variable with the access token' },
      { flags: '--token-file <file>', description: 'file with the access token (mode 0600)' },
      { flags: '--token-cmd <command>', description: 'command that prints the access token' },
      { flags: '--expires <date>', description: 'when the token expires, such as 2027-05-31' },
      { flags: '--pool <name>', description: 'the agent pool' },
      { flags: '--agents <number>', description: 'agents on each host, or one-per-gpu' },
      {
        flags: '--dataset <folder>',
        description: 'folder on the hosts that jobs may read; repeatable',
        repeat: true,
      },
      { flags: '--unready <what>', description: 'hosts that are not ready: keep or drop' },
      { flags: '--answers <file>', description: 'YAML file with answers, by the key of each question' },
      { flags: '--provision', description: 'provision the hosts once the inventory is written' },
      {
        flags: '--test-pipeline <id>',
        description: 'after provisioning, run this pipeline (definitionId= in its URL) and wait for it',
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
    load: async () => (await import('./commands/setup.ts')).run,
  },
  {
    name: 'init',
    group: 'Start',
    offline: true,
    summary: 'write a short inventory for the named hosts; asks nothing, overwrites nothing',
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
        description: 'required: name, https://dev.azure.com/NAME, or a Server collection',
      },
      { flags: '--pool <name>', description: 'the agent pool', default: 'gpu-lab' },
      {
        flags: '--project <name>',
        description: 'project whose pipelines may use the pool; repeatable',
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
    load: async () => (await import('./commands/init.ts')).run,
  },
  {
    name: 'completion',
    offline: true,
    summary: 'print the completion script for bash, zsh or fish',
    description:
      'Completes commands, options, help topics, files, and names from the inventory: hosts, groups, labels, slots, pools. The script calls azp-fleet completion SHELL -- WORDS at each Tab.',
    positionals: '<shell>',
    inventory: false,
    examples: [
      ['source <(azp-fleet completion bash)', 'completion for this shell'],
      ['azp-fleet completion fish > ~/.config/fish/completions/azp-fleet.fish', 'permanently, in fish'],
    ],
    json: ['shell', 'script', 'paths', 'offers'],
    load: async () => (await import('./commands/completion.ts')).run,
  },
  {
    name: 'version',
    offline: true,
    summary: 'print the versions of azp-fleet, of its protocol, and of Node',
    description:
      'With --check also lists the driver branches, CUDA images, lines of Docker, toolkit and agent, and distributions whose support has ended or ends within 60 days, whose end is not known, or of which a newer release was seen. Contacts nothing: the dates are those of this release.',
    inventory: false,
    options: [
      { flags: '--check', description: 'also list what its vendor no longer supports, or soon will not' },
    ],
    examples: [
      ['azp-fleet version', 'for a bug report'],
      ['azp-fleet version --check', 'what to change before its support ends'],
    ],
    json: ['protocol', 'node', 'platform', 'arch', 'hostsNode', 'lines'],
    load: async () => (await import('./commands/version.ts')).run,
  },
];

/** Commands on the inventory file. They contact no host. */
export const inventoryCommands: readonly CommandSpec[] = [
  {
    name: 'inventory list',
    group: 'Start',
    offline: true,
    summary: 'hosts with address, pool, agents, groups and labels',
    positionals: '[hosts...]',
    examples: [['azp-fleet inventory list --limit room=b12', 'hosts that match a pattern']],
    json: ['hosts'],
    load: async () => (await import('./commands/inventory.ts')).runList,
  },
  {
    name: 'inventory show',
    group: 'Start',
    offline: true,
    summary: 'hosts with all defaults, and how ssh reaches them',
    positionals: '<hosts...>',
    examples: [['azp-fleet inventory show h200-1', 'also shows the source of each SSH option']],
    json: ['hosts'],
    load: async () => (await import('./commands/inventory-show.ts')).run,
  },
  {
    name: 'inventory diff',
    group: 'Start',
    offline: true,
    summary: 'settings in which two hosts differ',
    description: 'With all defaults, and the place in the inventory that sets each value.',
    positionals: '<host> <other>',
    examples: [['azp-fleet inventory diff h200-1 h200-2 lab.yaml', 'why they get other plans']],
    json: ['hosts', 'differences'],
    load: async () => (await import('./commands/inventory-diff.ts')).run,
  },
  {
    name: 'inventory check',
    group: 'Start',
    offline: true,
    summary: 'find mistakes in the inventory; contacts no host',
    options: [
      {
        flags: '--same-commands-as <file>',
        description: 'stop unless its commands and sources of secrets equal those of this inventory',
      },
    ],
    examples: [
      ['azp-fleet inventory check lab.yaml', 'each mistake with its line and its fix'],
      ['azp-fleet inventory check lab.yaml --same-commands-as main.yaml', 'for a pull request'],
    ],
    json: ['file', 'organization', 'hosts', 'warnings'],
    load: async () => (await import('./commands/inventory-check.ts')).run,
  },
  {
    name: 'inventory import',
    group: 'Start',
    offline: true,
    summary: 'import hosts from Ansible, Terraform or ~/.ssh/config',
    description:
      'Shows what it would write, and what it leaves out and why; --write writes it. An existing inventory keeps its content and comments. From Ansible it takes hosts, groups and connection variables; from Terraform the output azp_fleet_hosts, or machines of Google Cloud, Azure and AWS.',
    options: [
      { flags: '--ansible <file>', description: 'an inventory of Ansible, INI or YAML' },
      { flags: '--terraform <file>', description: 'output of terraform output -json, or of show -json' },
      { flags: '--ssh', description: 'hosts of ~/.ssh/config, or of --ssh-config FILE' },
      { flags: '-o, --output <file>', description: 'the inventory', default: 'inventory.yaml' },
      { flags: '--write', description: 'write it' },
      { flags: '--organization <url>', description: 'for a new inventory: https://dev.azure.com/NAME' },
      { flags: '--pool <name>', description: 'for a new inventory: the agent pool', default: 'gpu-lab' },
      {
        flags: '--project <name>',
        description: 'for a new inventory: project whose pipelines may use the pool; repeatable',
        repeat: true,
      },
    ],
    inventory: false,
    sshConfig: true,
    examples: [
      ['azp-fleet inventory import --ssh', 'hosts of ~/.ssh/config'],
      ['azp-fleet inventory import --ansible hosts.ini -o lab.yaml --write', 'moving from Ansible'],
      ['azp-fleet inventory import --terraform hosts.json', 'after terraform output -json > hosts.json'],
    ],
    json: ['file', 'written', 'hosts', 'leftOut'],
    load: async () => (await import('./commands/import.ts')).run,
  },
  {
    name: 'pipeline',
    group: 'Start',
    offline: true,
    summary: 'print azure-pipelines.yml for a pool of the inventory',
    description:
      'Kinds: gpu, a job with GPUs; matrix, the same on agents of each sort; container, a job in a separate container; image, a job in the image of the agents; graphics, a job that renders.',
    positionals: '[pool]',
    options: [
      { flags: '--kind <kind>', description: 'gpu, matrix, container, image or graphics', default: 'gpu' },
      { flags: '-o, --output <file>', description: 'file to write; refuses to overwrite' },
      { flags: '--replace', description: 'overwrite the file, and keep a backup beside it' },
    ],
    examples: [
      ['azp-fleet pipeline', 'a job with GPUs in the pool of ./inventory.yaml'],
      ['azp-fleet pipeline gpu-lab --kind matrix -o azure-pipelines.yml', 'a job for each kind of agent'],
    ],
    json: ['pool', 'kind', 'pipeline', 'file'],
    load: async () => (await import('./commands/pipeline.ts')).run,
  },
];
