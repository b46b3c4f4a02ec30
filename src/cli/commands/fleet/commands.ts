import type { CommandSpec, OptionSpec } from '../../command.ts';
import { waveOptions } from '../../run/wave-options.ts';

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
export const fleetCommands: readonly CommandSpec[] = [
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
    load: () => import('./plan.ts'),
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
    load: () => import('./provision.ts'),
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
    load: () => import('./reboot.ts'),
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
    load: () => import('./remove.ts'),
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
    load: () => import('./status.ts'),
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
    load: () => import('./diagnose.ts'),
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
    load: () => import('./explain.ts'),
  },
];
