import type { CommandSpec, OptionSpec } from './command.ts';
import { imageCommands } from './commands/image/commands.ts';
import { poolCommands } from './commands/pool/commands.ts';
import { sshCommands } from './commands/ssh/commands.ts';

const parallel: OptionSpec = {
  flags: '--parallel <n>',
  description: 'hosts at the same time',
  default: '20',
};
const disturbOthers: OptionSpec = {
  flags: '--disturb-others',
  description: "accept that other people's containers, GPU processes and logins are hurt",
};

/**
 * Every command, in the order of `--help`. Declarations only: nothing heavy may be imported here,
 * because this file is read at every start.
 */
export const commands: readonly CommandSpec[] = [
  {
    name: 'setup',
    summary: 'make an inventory by answering questions; every host is tested on the way',
    description:
      'Hosts come from ~/.ssh/config or are typed in. Nothing is changed on them before you say so.',
    options: [
      { flags: '-o, --output <file>', description: 'the inventory to write', default: 'inventory.yaml' },
    ],
    inventory: false,
    examples: [['azp-fleet setup', 'writes inventory.yaml and offers to provision']],
    load: () => import('./commands/start/setup.ts'),
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
    examples: [
      ['azp-fleet init h200-1 h200-2 --organization https://dev.azure.com/example', 'hosts of ~/.ssh/config'],
      ['azp-fleet init rtx=admin@192.0.2.7:2222 -o lab.yaml', 'a host by its address'],
    ],
    load: () => import('./commands/start/init.ts'),
  },
  {
    name: 'inventory list',
    summary: 'hosts with address, pool, agents, groups and labels',
    positionals: '[hosts...]',
    examples: [['azp-fleet inventory list --limit room=b12', 'what a pattern selects']],
    load: () => import('./commands/inventory/list.ts'),
  },
  {
    name: 'inventory show',
    summary: 'one host with every default filled in, and how it would be reached',
    positionals: '<hosts...>',
    examples: [['azp-fleet inventory show h200-1', 'also says where each SSH option came from']],
    load: () => import('./commands/inventory/show.ts'),
  },
  {
    name: 'inventory check',
    summary: 'find mistakes in the inventory without contacting anybody',
    examples: [['azp-fleet inventory check lab.yaml', 'the mistakes, each with its line and its cure']],
    load: () => import('./commands/inventory/check.ts'),
  },
  {
    name: 'plan',
    summary: 'show what provision would change, without changing it',
    description:
      'Hosts with equal changes are shown once. What cannot be known yet is shown as such. Exit code 3: changes are pending.',
    positionals: '[hosts...]',
    options: [
      { flags: '-o, --out <file>', description: 'save the plan for "provision --plan FILE"' },
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      parallel,
      disturbOthers,
    ],
    examples: [
      ['azp-fleet plan inventory.yaml', 'all hosts'],
      ['azp-fleet plan h200-1 --show-scripts', 'every line that would run as root'],
      ['azp-fleet plan -o friday.json', 'for later: azp-fleet provision --plan friday.json'],
    ],
    load: () => import('./commands/fleet/plan.ts'),
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
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      { flags: '--rerun <which>', description: '"failed": only the hosts that the last run left unwell' },
      parallel,
      {
        flags: '--upload-limit <rate>',
        description: 'all uploads together, e.g. 50MiB/s or 400Mbit/s, over what the inventory says',
      },
      { flags: '--no-probe', description: 'do not prove the result' },
      disturbOthers,
      {
        flags: '--drain-timeout <duration>',
        description: 'how long running jobs may take to end before a disturbing change',
        default: '4h',
      },
      { flags: '--break-lock', description: "take over another run's lock; it says whose" },
    ],
    examples: [
      ['azp-fleet provision inventory.yaml', 'plan, ask, apply, prove'],
      ['azp-fleet provision --yes --limit room=b12', 'without asking, one room'],
      ['azp-fleet provision --rerun failed', 'what did not work the last time'],
    ],
    load: () => import('./commands/fleet/provision.ts'),
  },
  {
    name: 'status',
    summary: 'one table of all hosts: software, GPUs, agents here and in Azure, verdict, cause and cure',
    description:
      'Reads facts over SSH, the last report of each manager (at most 5 minutes old) and the pools. Changes nothing.',
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
    load: () => import('./commands/fleet/status.ts'),
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
    load: () => import('./commands/fleet/diagnose.ts'),
  },
  ...poolCommands,
  ...imageCommands,
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
    ],
    examples: [
      ['azp-fleet logs h200-1', 'what ran there lately'],
      ['azp-fleet logs h200-1/0', 'the output of slot 0'],
    ],
    load: () => import('./commands/slots/logs.ts'),
  },
  ...sshCommands,
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
    load: () => import('./commands/slots/drain.ts'),
  },
  {
    name: 'undrain',
    summary: 'let agents take jobs again',
    positionals: '[hosts...]',
    options: [{ flags: '--slot <slot>', description: 'only this slot; repeatable', repeat: true }],
    examples: [['azp-fleet undrain h200-1', 'all its slots']],
    load: () => import('./commands/slots/undrain.ts'),
  },
  {
    name: 'adopt',
    summary: 'take over agent names that another owner holds in the pool',
    description:
      'After a machine was set up anew its names belong to the earlier installation. Says which names are held and asks.',
    positionals: '<hosts...>',
    options: [{ flags: '--slot <slot>', description: 'only this slot; repeatable', repeat: true }],
    examples: [
      ['azp-fleet adopt h200-1', 'every name of the host that somebody else holds'],
      ['azp-fleet adopt h200-1 --slot 3', 'one slot'],
    ],
    load: () => import('./commands/slots/adopt.ts'),
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
    load: () => import('./commands/start/completion.ts'),
  },
];
