import type { CommandSpec, OptionSpec } from './command.ts';

/** For each command that takes agents away. */
const waveOptions: readonly OptionSpec[] = [
  {
    flags: '--max-unavailable <n>',
    description:
      'hosts of each pool that lose their agents at a time, as a number or P% (25%), over what the inventory says; 100%: all',
  },
  {
    flags: '--max-failures <n>',
    description: 'hosts that may fail, as a number or P% (0), before no more are begun',
  },
];

/** What comes before there is a fleet. */
const startCommands: readonly CommandSpec[] = [
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
    load: async () => (await import('./commands/setup.ts')).run,
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
    load: async () => (await import('./commands/init.ts')).run,
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
    load: async () => (await import('./commands/completion.ts')).run,
  },
  {
    name: 'version',
    summary: 'print the version, that of what is said to managers, and the Node that runs it',
    inventory: false,
    examples: [['azp-fleet version', 'what a report of a mistake should begin with']],
    json: ['protocol', 'node', 'platform', 'arch', 'hostsNode'],
    load: async () => (await import('./commands/version.ts')).run,
  },
];

/** The file. Nobody is contacted. */
const inventoryCommands: readonly CommandSpec[] = [
  {
    name: 'inventory list',
    summary: 'hosts with address, pool, agents, groups and labels',
    positionals: '[hosts...]',
    examples: [['azp-fleet inventory list --limit room=b12', 'what a pattern selects']],
    json: ['hosts'],
    load: async () => (await import('./commands/inventory.ts')).runList,
  },
  {
    name: 'inventory show',
    summary: 'one host with every default filled in, and how it would be reached',
    positionals: '<hosts...>',
    examples: [['azp-fleet inventory show h200-1', 'also says where each SSH option came from']],
    json: ['hosts'],
    load: async () => (await import('./commands/inventory.ts')).runShow,
  },
  {
    name: 'inventory check',
    summary: 'find mistakes in the inventory without contacting anybody',
    examples: [['azp-fleet inventory check lab.yaml', 'the mistakes, each with its line and its cure']],
    json: ['file', 'organization', 'hosts', 'warnings'],
    load: async () => (await import('./commands/inventory.ts')).runCheck,
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
    load: async () => (await import('./commands/import.ts')).run,
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
    load: async () => (await import('./commands/pipeline.ts')).run,
  },
];

const parallel: OptionSpec = {
  flags: '--parallel <n>',
  description: 'hosts at the same time',
  default: '20',
};
const diff: OptionSpec = {
  flags: '--diff',
  description: 'what becomes of the text of every file that is written',
};
const disturbOthers: OptionSpec = {
  flags: '--disturb-others',
  description: "accept that other people's containers, GPU processes and logins are hurt",
};
const drainTimeout: OptionSpec = {
  flags: '--drain-timeout <duration>',
  description: 'how long running jobs may take to end before a disturbing change',
  default: '4h',
};
const breakLock: OptionSpec = {
  flags: '--break-lock',
  description: "take over another run's lock; it says whose",
};

const bundle: OptionSpec = {
  flags: '--bundle <file>',
  description: 'everything out of this bundle: the hosts reach Azure DevOps and no other network',
};

/** The whole way of a host: what it lacks, what is done about it, and how it is. */
const fleetCommands: readonly CommandSpec[] = [
  {
    name: 'plan',
    summary: 'show what provision would change, without changing it',
    description:
      'Hosts with equal changes are shown once. What cannot be known yet is shown as such. Exit code 3: changes are pending.',
    positionals: '[hosts...]',
    options: [
      { flags: '-o, --out <file>', description: 'save the plan for "provision --plan FILE"' },
      bundle,
      diff,
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      parallel,
      ...waveOptions,
      disturbOthers,
    ],
    examples: [
      ['azp-fleet plan inventory.yaml', 'all hosts'],
      ['azp-fleet plan h200-1 --diff', 'line by line what becomes of files'],
      ['azp-fleet plan h200-1 --show-scripts', 'every line that would run as root'],
      ['azp-fleet plan -o friday.json', 'for later: azp-fleet provision --plan friday.json'],
    ],
    json: ['inventory', 'inventoryDigest', 'fleet', 'hosts', 'waves'],
    load: async () => (await import('./commands/plan.ts')).run,
  },
  {
    name: 'provision',
    summary: 'bring the hosts to what the inventory says, and prove it',
    description:
      'Plans, asks, applies, and runs nvidia-smi in a container on every host. Interrupted, it goes on where it stopped.',
    positionals: '[hosts...]',
    options: [
      { flags: '--plan <file>', description: 'apply this plan; refused where a host has changed since' },
      { flags: '--dry-run', description: 'stop after the plan' },
      { flags: '--detailed-exitcode', description: 'with --dry-run: exit 3 when changes are pending' },
      diff,
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      { flags: '--rerun <which>', description: '"failed": only the hosts that the last run left unwell' },
      bundle,
      parallel,
      ...waveOptions,
      {
        flags: '--upload-limit <rate>',
        description: 'all uploads together, e.g. 50MiB/s or 400Mbit/s, over what the inventory says',
      },
      { flags: '--no-probe', description: 'do not prove the result' },
      {
        flags: '--adopt',
        description: 'take over agent names of an earlier installation that is offline, as the plan says',
      },
      disturbOthers,
      drainTimeout,
      breakLock,
    ],
    examples: [
      ['azp-fleet provision inventory.yaml', 'plan, ask, apply, prove'],
      ['azp-fleet provision --yes --limit room=b12', 'without asking, one room'],
      ['azp-fleet provision h200-1 --adopt', 'a machine that was set up anew: its names are its own again'],
      ['azp-fleet provision --rerun failed', 'what did not work the last time'],
      ['azp-fleet provision --bundle site.bundle', 'hosts without a way to the internet'],
    ],
    json: ['plan', 'hosts'],
    load: async () => (await import('./commands/provision.ts')).run,
  },
  {
    name: 'reboot',
    summary: 'reboot the hosts in waves, without losing a job, and prove each',
    description:
      'Drains the agents of a host, reboots it, proves it by nvidia-smi in a container, and only then lets its agents take jobs. Needs no token and asks nothing of Azure DevOps, and the result says so.',
    positionals: '[hosts...]',
    options: [
      {
        flags: '--booted-before <time>',
        description: 'only hosts that have not been booted since: so long ago (30d), or a time of ISO 8601',
      },
      { flags: '--dry-run', description: 'stop after the plan' },
      parallel,
      ...waveOptions,
      disturbOthers,
      drainTimeout,
      breakLock,
    ],
    examples: [
      ['azp-fleet reboot h200-1', 'one host'],
      ['azp-fleet reboot --max-unavailable 1', 'all, one host of each pool at a time'],
      ['azp-fleet reboot --booted-before 30d --yes', 'those that have not been rebooted for a month'],
    ],
    json: ['plan', 'hosts'],
    load: async () => (await import('./commands/reboot.ts')).run,
  },
  {
    name: 'remove',
    summary: 'take away what is ours on hosts, and nothing else',
    description:
      'Lets running jobs end, stops the manager, takes its agents out of Azure DevOps, and deletes all that is ours. Toolkit, Docker Engine and driver stay unless they are named. With --gone no host is reached: its agents are removed as by "pool prune", and the document has the members of that command.',
    positionals: '[hosts...]',
    arguments: { hosts: 'hosts, named: names, groups, labels, globs; "*" is all of them' },
    options: [
      {
        flags: '--toolkit',
        description: 'also the NVIDIA Container Toolkit, where its packages are from our source',
      },
      { flags: '--docker', description: 'also Docker Engine, likewise; what it stores stays' },
      { flags: '--driver', description: 'also the NVIDIA driver, likewise' },
      {
        flags: '--gone <host>',
        description: 'a machine that will not come back: only its agents in Azure DevOps; repeatable',
        repeat: true,
      },
      {
        flags: '--agent-name <pattern>',
        description: 'agentName of the --gone hosts, where the inventory has none',
      },
      { flags: '--dry-run', description: 'stop after the plan' },
      diff,
      { flags: '--show-scripts', description: 'the exact scripts of every change' },
      parallel,
      ...waveOptions,
      disturbOthers,
      drainTimeout,
      breakLock,
    ],
    examples: [
      ['azp-fleet remove h200-1', 'one host; its jobs end first'],
      ['azp-fleet remove h200-1 --toolkit --docker --driver', 'and the stack that came with it'],
      ['azp-fleet remove --gone h100-3', 'the agents of a machine that no longer answers'],
    ],
    json: ['plan', 'hosts'],
    load: async () => (await import('./commands/remove.ts')).run,
  },
  {
    name: 'status',
    summary: 'one table of all hosts: software, GPUs, agents here and in Azure, verdict, cause and cure',
    description:
      'Reads facts over SSH, the last report of each manager (at most 5 minutes old), the pools, and how many jobs the organization may run at once, where the token may read that. Changes nothing.',
    positionals: '[targets...]',
    options: [
      { flags: '--probe', description: 'look at the GPUs now, in a probe container on every host' },
      {
        flags: '--probe-timeout <duration>',
        description: 'after this a probe that does not answer is a hang',
        default: '60s',
      },
      { flags: '--drift', description: 'also plan; exit 3 when provision would change something' },
      { flags: '--strict', description: 'exit 1 for degraded hosts too' },
      { flags: '--parallel <n>', description: 'hosts at the same time', default: '50' },
    ],
    examples: [
      ['azp-fleet status', 'every host of ./inventory.yaml'],
      ['azp-fleet status --probe --limit hopper', 'a fresh look at one group'],
      ['azp-fleet status --json', 'for programs'],
    ],
    json: ['hosts', 'fleetDrift', 'parallelJobs'],
    load: async () => (await import('./commands/status.ts')).run,
  },
  {
    name: 'diagnose',
    summary: 'judge saved outputs of nvidia-smi or kernel logs, without contacting anybody',
    description:
      'Reads what `nvidia-smi -q -x`, a failed nvidia-smi, `dmesg` or `journalctl -k` wrote; - is standard input.',
    positionals: '<files...>',
    inventory: false,
    examples: [
      ['azp-fleet diagnose smi.xml dmesg.txt', 'two files'],
      ['ssh h200-1 dmesg | azp-fleet diagnose -', 'from a pipe'],
    ],
    json: ['files'],
    load: async () => (await import('./commands/diagnose.ts')).run,
  },
  {
    name: 'explain',
    summary: 'print what a code means and what fixes it',
    description: 'A code is in square brackets behind each message: [ssh.auth]. Contacts no host.',
    positionals: '<code>',
    inventory: false,
    examples: [
      ['azp-fleet explain ssh.auth', 'a code from a message'],
      ['azp-fleet explain xid.79', 'an error number of the GPU driver'],
    ],
    json: ['code', 'subject', 'cause', 'fix'],
    load: async () => (await import('./commands/explain.ts')).run,
  },
];

/** What is asked of the managers. The credential of Azure DevOps is not touched: they have their own. */
const slotCommands: readonly CommandSpec[] = [
  {
    name: 'logs',
    summary: "the last runs of a host's agents, or the output of one slot",
    description:
      'HOST lists runs with job, result and duration; HOST/SLOT prints the log of its present or last run: on a terminal as plain text, into a pipe as it was written.',
    positionals: '<target>',
    options: [
      { flags: '--runs', description: 'list the runs of HOST/SLOT instead of its output' },
      { flags: '--last <n>', description: 'how many runs', default: '20' },
      { flags: '--tail <n>', description: 'how many lines', default: '200' },
      {
        flags: '--diag',
        description: "the agent's own logs (_diag) of the last failed run of HOST/SLOT, or of --run",
      },
      { flags: '--run <id>', description: 'with --diag: of this run, as --runs names it' },
    ],
    examples: [
      ['azp-fleet logs h200-1', 'what ran there lately'],
      ['azp-fleet logs h200-1/0', 'the output of slot 0'],
      ['azp-fleet logs h200-1/0 --diag', 'what its agent wrote about its last failed run'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runLogs,
  },
  {
    name: 'drain',
    summary: 'let agents take no more jobs; running jobs go on',
    positionals: '[hosts...]',
    options: [
      { flags: '--slot <slot>', description: 'only this slot; repeatable', repeat: true },
      { flags: '--wait', description: 'return when no job is left' },
      { flags: '--drain-timeout <duration>', description: 'with --wait: how long at most', default: '4h' },
      { flags: '--reason <text>', description: 'shown in status and on the agent in Azure DevOps' },
    ],
    examples: [
      ['azp-fleet drain h200-1 --wait', 'before you open the machine'],
      ['azp-fleet drain h200-1 --slot 3 --reason "fan"', 'one slot'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runDrain,
  },
  {
    name: 'undrain',
    summary: 'let agents take jobs again',
    positionals: '[hosts...]',
    options: [{ flags: '--slot <slot>', description: 'only this slot; repeatable', repeat: true }],
    examples: [['azp-fleet undrain h200-1', 'all its slots']],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runUndrain,
  },
  {
    name: 'repaired',
    summary: 'say that GPUs were reset or replaced: errors of before close no slot any more',
    description:
      'An error that the kernel has reported of a GPU (XID) counts until the next boot, and a slot whose GPU comes and goes stays closed for a while. After a reset or a replacement without a reboot this takes both back; the GPU is looked at at once, and what is still wrong with it shows.',
    positionals: '<hosts...>',
    options: [
      {
        flags: '--gpu <address>',
        description: 'only this GPU (PCI address, as findings name it); repeatable; default: all of the host',
        repeat: true,
      },
    ],
    examples: [['azp-fleet repaired h200-1 --gpu 0000:9b:00.0', 'after nvidia-smi --gpu-reset']],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runRepaired,
  },
  {
    name: 'webhook',
    summary: "send a test message to hosts' webhooks",
    description:
      'Each manager sends a message that says that it is a test, from the host and by the way that its messages take, and says what came of it. docs/monitoring.md tells what is sent otherwise.',
    positionals: '<hosts...>',
    examples: [['azp-fleet webhook h200-1', 'after webhook: was set and provisioned']],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runWebhook,
  },
  {
    name: 'adopt',
    summary: 'take over agent names that another owner holds in the pool',
    description:
      'After a machine was set up anew its names belong to the earlier installation. Says which names are held and asks; refused while that owner is online or has a job. "azp-fleet provision --adopt" does it on the way.',
    positionals: '<hosts...>',
    options: [{ flags: '--slot <slot>', description: 'only this slot; repeatable', repeat: true }],
    examples: [
      ['azp-fleet adopt h200-1', 'every name of the host that somebody else holds'],
      ['azp-fleet adopt h200-1 --slot 3', 'one slot'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runAdopt,
  },
];

/** Agent images. The managers alone build and pull them; these commands look and ask. */
const imageCommands: readonly CommandSpec[] = [
  {
    name: 'image list',
    summary: 'the CUDA bases that agent images are built upon, and what each asks of driver and GPUs',
    inventory: false,
    examples: [['azp-fleet image list', 'the table that the choice is made from']],
    json: ['arch', 'repository', 'flavour', 'cuda', 'cpu', 'cudaOfDriver'],
    load: async () => (await import('./commands/image.ts')).runList,
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
    load: async () => (await import('./commands/image.ts')).runWhich,
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
    load: async () => (await import('./commands/image.ts')).runBuild,
  },
];

/** One archive for networks that nothing leads into. */
const bundleCommands: readonly CommandSpec[] = [
  {
    name: 'bundle',
    summary: 'gather all that hosts without the internet need into one file, or look into such a file',
    description:
      'Reads the hosts, fetches packages, images, the Node and the manager for them, and checks whatever is signed. "provision --bundle FILE" then needs SSH and Azure DevOps, and no other network. Needs Docker on this machine.',
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
      { flags: '--show <file>', description: 'what a bundle holds; every byte of it is checked' },
      { flags: '--parallel <n>', description: 'hosts at the same time', default: '20' },
    ],
    examples: [
      ['azp-fleet bundle inventory.yaml -o site.bundle', 'for all hosts, which can be reached from here'],
      ['azp-fleet bundle -o site.bundle --for ubuntu-24.04/x86_64', 'for hosts that cannot'],
      ['azp-fleet bundle --show site.bundle', 'what is in it'],
    ],
    json: ['file', 'bundle'],
    load: async () => (await import('./commands/bundle.ts')).run,
  },
];

/** Pools of the organisation; hosts are not contacted. Without names: all pools of the inventory. */
const poolCommands: readonly CommandSpec[] = [
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
    summary: 'make the pools that do not exist yet, without automatic agent updates',
    positionals: '[pools...]',
    examples: [['azp-fleet pool create gpu-hopper', 'one pool, before any host uses it']],
    json: ['changes'],
    load: async () => (await import('./commands/pool.ts')).runCreate,
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
    load: async () => (await import('./commands/pool.ts')).runAuthorize,
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
    load: async () => (await import('./commands/pool-prune.ts')).run,
  },
];

/** Commands that need nothing of a host but SSH. The credential of Azure DevOps is not touched. */
const sshCommands: readonly CommandSpec[] = [
  {
    name: 'exec',
    summary: 'run a command on many hosts; equal outputs are shown once',
    description:
      'As root (through sudo where needed). One word after -- is shell text, several are a command with its arguments. What the hosts write is plain text on a terminal, and as it is in a pipe.',
    positionals: '[hosts...]',
    options: [
      { flags: '--login', description: 'as the login user instead of root' },
      { flags: '--timeout <duration>', description: 'how long the command may take', default: '60s' },
      { flags: '--parallel <n>', description: 'hosts at the same time', default: '50' },
    ],
    examples: [
      ['azp-fleet exec -- nvidia-smi -L', 'every host'],
      ["azp-fleet exec hopper -- 'df -h / | tail -1'", 'shell text, one group'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/exec.ts')).run,
  },
  {
    name: 'ssh',
    summary: "log in to a host with the system's ssh, by what the inventory says",
    positionals: '<host>',
    json: false,
    examples: [
      ['azp-fleet ssh h200-1', 'a shell'],
      ['azp-fleet ssh h200-1 -- journalctl -fu azp-fleet-manager', 'one command'],
    ],
    load: async () => (await import('./commands/ssh.ts')).run,
  },
  {
    name: 'ssh-config',
    summary: 'name the hosts in ~/.ssh/config, for plain ssh, scp, rsync and editors',
    description:
      'Prints what it would write: a file of its own, and one Include at the top of ~/.ssh/config; the rest of that stays as it is, byte for byte. A host is reached as azp-fleet reaches it, through its jump hosts and with its pinned keys. Run it again when the inventory has changed.',
    positionals: '[hosts...]',
    options: [
      { flags: '--write', description: 'put it in place' },
      { flags: '--remove', description: 'take it away again; needs no inventory' },
    ],
    examples: [
      ['azp-fleet ssh-config', 'what would be written'],
      ['azp-fleet ssh-config --write && rsync -a data/ h200-1:/data/', 'the hosts by their names'],
    ],
    json: ['hosts', 'files', 'written'],
    load: async () => (await import('./commands/ssh-config.ts')).run,
  },
  {
    name: 'trust',
    summary: "collect the hosts' keys for review and pin them in the inventory",
    description: 'Logs in nowhere. Compare the fingerprints with those on the machines before you say yes.',
    positionals: '[hosts...]',
    examples: [
      ['azp-fleet trust', 'all hosts, then asks'],
      ['azp-fleet trust h200-1 --yes', 'after a reinstallation that you made yourself'],
    ],
    json: ['keys'],
    load: async () => (await import('./commands/trust.ts')).run,
  },
];

/**
 * Every command, in the order of `--help`. Declarations only: nothing heavy may be imported by these tables, because
 * they are read at every start.
 */
export const commands: readonly CommandSpec[] = [
  ...startCommands,
  ...inventoryCommands,
  ...fleetCommands,
  ...slotCommands,
  ...imageCommands,
  ...bundleCommands,
  ...poolCommands,
  ...sshCommands,
];
