import { type CommandSpec, groupOf, groupTitles, type OptionSpec } from './command.ts';
import { bundleCommands, imageCommands, poolCommands } from './pool-commands.ts';
import { inventoryCommands, startCommands } from './start-commands.ts';

/** Options of commands that stop agents. */
const waveOptions: readonly OptionSpec[] = [
  {
    flags: '--max-unavailable <n>',
    description:
      'hosts of each pool that lose their agents at a time, as a number or P% (25%); overrides the inventory; 100%: all',
  },
  {
    flags: '--max-failures <n>',
    description: 'failed hosts, as a number or P% (0), after which the run starts no further host',
  },
];

const parallel: OptionSpec = {
  flags: '--parallel <n>',
  description: 'hosts at the same time',
  default: '20',
};
const diff: OptionSpec = {
  flags: '--diff',
  description: 'show the differences of each file that is written',
};
const disturbOthers: OptionSpec = {
  flags: '--disturb-others',
  description: 'interrupt containers, GPU processes and logins of other users',
};
const drainTimeout: OptionSpec = {
  flags: '--drain-timeout <duration>',
  description: 'how long to wait for running jobs before a disturbing change',
  default: '4h',
};
const probeTimeout: OptionSpec = {
  flags: '--probe-timeout <duration>',
  description: 'a probe that takes longer counts as hung',
  default: '60s',
};
const breakLock: OptionSpec = {
  flags: '--break-lock',
  description: "take over another run's lock; prints its owner",
};

/** Options of commands that change hosts in waves. */
const changeOptions: readonly OptionSpec[] = [...waveOptions, disturbOthers, drainTimeout, breakLock];

const onlyHarmless: OptionSpec = {
  flags: '--only-harmless',
  description:
    'only changes that disturb nothing and need none that does; no drain; exit 3 while others are left',
};

const bundle: OptionSpec = {
  flags: '--bundle <file>',
  description: 'install everything from this bundle: hosts need only the network to Azure DevOps',
};

/** Commands that plan, change and check hosts. */
const fleetCommands: readonly CommandSpec[] = [
  {
    name: 'plan',
    group: 'Change',
    summary: 'show what provision would change, without changing it',
    description:
      'Hosts with equal changes are shown once. Changes that are not known yet are marked with ?. Exit code 3: changes are pending.',
    positionals: '[hosts...]',
    options: [
      { flags: '-o, --out <file>', description: 'save the plan for "provision --plan FILE"' },
      onlyHarmless,
      bundle,
      diff,
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      parallel,
      ...waveOptions,
      disturbOthers,
    ],
    examples: [
      ['azp-fleet plan inventory.yaml', 'all hosts'],
      ['azp-fleet plan h200-1 --diff', 'differences of files, line by line'],
      ['azp-fleet plan h200-1 --show-scripts', 'every line that would run as root'],
      ['azp-fleet plan -o friday.json', 'to apply later with azp-fleet provision --plan friday.json'],
    ],
    json: ['inventory', 'inventoryDigest', 'fleet', 'hosts', 'waves', 'support', 'left'],
    load: async () => (await import('./commands/plan.ts')).run,
  },
  {
    name: 'provision',
    group: 'Change',
    summary: 'make the hosts match the inventory, and verify the result',
    description:
      'Plans, asks, applies, and runs nvidia-smi in a container on every host. After an interruption the next run resumes. With --only-harmless each host gets its changes up to the first stage that disturbs; what is left is reported, to webhooks too.',
    positionals: '[hosts...]',
    options: [
      { flags: '--plan <file>', description: 'apply this plan; refused for hosts that changed since' },
      { flags: '--dry-run', description: 'stop after the plan' },
      { flags: '--detailed-exitcode', description: 'with --dry-run: exit 3 when changes are pending' },
      onlyHarmless,
      {
        flags: '--textfile <file>',
        description: 'with --only-harmless: a .prom file with what is left, for node_exporter',
      },
      diff,
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      { flags: '--rerun <which>', description: '"failed": only the hosts that failed in the last run' },
      bundle,
      parallel,
      ...waveOptions,
      {
        flags: '--upload-limit <rate>',
        description: 'limit of all uploads together, e.g. 50MiB/s or 400Mbit/s; overrides the inventory',
      },
      { flags: '--no-probe', description: 'skip the final check with nvidia-smi' },
      {
        flags: '--adopt',
        description: 'take over agent names of an earlier installation that is offline',
      },
      disturbOthers,
      drainTimeout,
      breakLock,
    ],
    examples: [
      ['azp-fleet provision inventory.yaml', 'plan, ask, apply, verify'],
      ['azp-fleet provision --yes --limit room=b12', 'without asking, one room'],
      ['azp-fleet provision h200-1 --adopt', 'a reinstalled machine keeps its agent names'],
      ['azp-fleet provision --rerun failed', 'hosts that failed in the last run'],
      ['azp-fleet provision --bundle site.bundle', 'hosts without internet access'],
      ['azp-fleet provision --only-harmless --yes', 'from a timer: what disturbs is left'],
    ],
    json: ['plan', 'hosts', 'left'],
    load: async () => (await import('./commands/provision.ts')).run,
  },
  {
    name: 'upgrade',
    group: 'Change',
    summary: 'show what is installed, offered and supported; with --to, change it in waves',
    description:
      'Without --to it changes nothing. With --to it upgrades one host of each kind first, then writes the version into the inventory, at these hosts, and continues in waves. If the run does not succeed, the inventory gets its earlier text back. The same command continues an interrupted run. A first word that is no part is a host.',
    positionals: '[part] [hosts...]',
    options: [
      {
        flags: '--to <version>',
        description: 'a version, a driver branch, or default: what this release installs by default',
      },
      { flags: '--dry-run', description: 'stop after the plan' },
      diff,
      { flags: '--show-scripts', description: 'the exact scripts and files of every change' },
      bundle,
      parallel,
      ...changeOptions,
    ],
    examples: [
      ['azp-fleet upgrade', 'the table of all hosts'],
      ['azp-fleet upgrade docker h200-1', 'one part of one host'],
      ['azp-fleet upgrade driver hopper --to 580', 'a driver branch, in one group'],
      ['azp-fleet upgrade agent --to default --yes', 'without asking, all hosts'],
      ['azp-fleet upgrade driver h200-1 --to 580 --bundle site.bundle', 'a host without internet access'],
    ],
    json: ['parts', 'edits', 'plan', 'hosts'],
    load: async () => (await import('./commands/upgrade.ts')).run,
  },
  {
    name: 'reboot',
    group: 'Change',
    summary: 'reboot the hosts in waves without losing a job, and verify each',
    description:
      'Drains the agents of a host, reboots it, runs nvidia-smi in a container, and then lets its agents take jobs. Needs no token and does not contact Azure DevOps.',
    positionals: '[hosts...]',
    options: [
      {
        flags: '--booted-before <time>',
        description: 'only hosts that were booted before: an age (30d) or an ISO 8601 time',
      },
      { flags: '--dry-run', description: 'stop after the plan' },
      parallel,
      ...changeOptions,
    ],
    examples: [
      ['azp-fleet reboot h200-1', 'one host'],
      ['azp-fleet reboot --max-unavailable 1', 'all, one host of each pool at a time'],
      ['azp-fleet reboot --booted-before 30d --yes', 'hosts that have been up for a month'],
    ],
    json: ['plan', 'hosts'],
    load: async () => (await import('./commands/reboot.ts')).run,
  },
  {
    name: 'token rotate',
    group: 'Change',
    summary: 'give hosts a new token without a restart, and prove that it is used',
    description:
      'Put the new token where the inventory points, then run this. It checks the rights of the token before any host gets it, replaces it on one host, waits until Azure DevOps has accepted it from there, and continues with all others. Agents and jobs continue. It names the hosts that are left, and what to revoke. With --mint it creates the new token itself with "az rest", as the user of az, and stores it in the file that the inventory names; this has not been tried with the live service.',
    positionals: '[hosts...]',
    options: [
      { flags: '--mint', description: 'create the token first, with az; unconfirmed' },
      {
        flags: '--valid-for <duration>',
        description: 'with --mint: until the token expires, 1d to 365d (90d by default)',
      },
      { flags: '--dry-run', description: 'stop after the plan' },
      parallel,
      breakLock,
    ],
    examples: [
      ['azp-fleet token rotate', 'all hosts, one first'],
      ['azp-fleet token rotate --mint --valid-for 30d', 'create the token, too, with az (unconfirmed)'],
      ['azp-fleet token rotate h200-1', 'a host that was off before'],
    ],
    json: ['plan', 'hosts', 'token'],
    load: async () => (await import('./commands/token.ts')).runRotate,
  },
  {
    name: 'remove',
    group: 'Change',
    summary: 'remove azp-fleet from hosts, and nothing else',
    description:
      'Waits for running jobs, stops the manager, deletes its agents in Azure DevOps, and deletes the files of azp-fleet. Toolkit, Docker Engine and driver stay unless an option names them. A host is refused whole while Azure DevOps counts a job on an agent that has ended, or cannot be asked: the agent could not be deleted. With --gone no host is contacted: agents are removed as by "pool prune", and the lines of the host in the files of "ssh-config --write"; a host with an agent that is online or has a job is refused whole. The JSON document then has leftovers and pruned, as of that command, and sshLines.',
    positionals: '[hosts...]',
    arguments: { hosts: 'hosts: names, groups, labels, globs; "*" for all' },
    options: [
      {
        flags: '--toolkit',
        description: 'also the NVIDIA Container Toolkit, if azp-fleet installed it',
      },
      { flags: '--docker', description: 'also Docker Engine, if azp-fleet installed it; its data stays' },
      { flags: '--driver', description: 'also the NVIDIA driver, if azp-fleet installed it' },
      {
        flags: '--gone <host>',
        description:
          'a machine that no longer exists: remove its agents in Azure DevOps and its lines in ~/.ssh; repeatable',
        repeat: true,
      },
      {
        flags: '--agent-name <pattern>',
        description: 'agentName of the --gone hosts, if the inventory does not have it',
      },
      {
        flags: '--wait',
        description: 'wait until Azure DevOps gives up jobs of agents that have ended (up to 15 minutes)',
      },
      {
        flags: '--force',
        description: 'do not ask Azure DevOps for such jobs; agents that it does not delete stay in the pool',
      },
      { flags: '--dry-run', description: 'stop after the plan' },
      diff,
      { flags: '--show-scripts', description: 'the exact scripts of every change' },
      parallel,
      ...changeOptions,
    ],
    examples: [
      ['azp-fleet remove h200-1', 'one host, after its jobs have finished'],
      ['azp-fleet remove h200-1 --wait', 'also after jobs of agents that were killed'],
      ['azp-fleet remove h200-1 --toolkit --docker --driver', 'also the software stack'],
      ['azp-fleet remove --gone h100-3', 'a machine that no longer exists'],
    ],
    json: ['plan', 'hosts'],
    load: async () => (await import('./commands/remove.ts')).run,
  },
  {
    name: 'status',
    showsHealth: true,
    isPlugin: true,
    group: 'Inspect',
    summary: 'one table of all hosts: software, GPUs, agents, verdict, cause and fix',
    description:
      'Reads facts over SSH, the last report of each manager (at most 90 s old), the pools with their queues, and how many jobs the organization may run at once, if the token may read that. Changes nothing.',
    positionals: '[targets...]',
    options: [
      { flags: '--probe', description: 'check the GPUs now, in a probe container on every host' },
      {
        flags: '--deep',
        description:
          'a probe that also runs a kernel and tests up to 1 GiB of memory of each GPU, at most 20 s each; only on drained GPUs without processes',
      },
      probeTimeout,
      {
        flags: '--drift',
        description: 'also plan: the keys that differ on hosts; exit 3 when provision would change something',
      },
      { flags: '--strict', description: 'exit 1 for degraded hosts too' },
      {
        flags: '--check',
        description:
          'exit as a Nagios plugin: 0 healthy, 1 degraded, 2 failed, hung or unreachable, 3 unknown',
      },
      {
        flags: '-w, --watch',
        description:
          'refresh the screen until q, whole hosts only: asks managers every 10 s and pools once a minute; / filters, Enter opens a host',
      },
      {
        flags: '--html <file>',
        description: 'write a page of all hosts and GPUs that needs no other file; replaces the file',
      },
      { flags: '--parallel <n>', description: 'hosts at the same time', default: '50' },
    ],
    examples: [
      ['azp-fleet status', 'every host of ./inventory.yaml'],
      ['azp-fleet status h200-1', 'one host: its slots, GPUs, jobs and disk'],
      ['azp-fleet status h200-1/3', 'its row, and what its slot 3 does'],
      ['azp-fleet status --probe --limit hopper', 'check the GPUs of one group now'],
      ['azp-fleet status --watch', 'the whole terminal, refreshed until q'],
      ['azp-fleet status --html fleet.html', 'a page for a browser'],
      ['azp-fleet status h200-1 --deep', 'test the GPUs of a drained host'],
      ['azp-fleet status --drift', 'which key of the inventory differs on which hosts'],
      ['azp-fleet status --check', 'for monitoring systems'],
      ['azp-fleet status --json', 'for programs'],
    ],
    json: ['hosts', 'fleetDrift', 'driftByKey', 'parallelJobs', 'queues', 'tokenExpires'],
    load: async () => (await import('./commands/status.ts')).run,
  },
  {
    name: 'doctor',
    group: 'Repair',
    summary: 'find the step at which a host fails, or why a job waits',
    description:
      'Checks from this machine to the agents of each host. Steps that depend on a failed one are not checked. Changes nothing; --fix does what "azp-fleet provision" can do about it, and never changes host keys, tokens, or drains by users. With --job it reads queues, agents, managers and limits; with Build (Read) also approvals, checks and names; exits with 1 if the build waits or failed at once.',
    positionals: '[hosts...]',
    options: [
      {
        flags: '--job <build>',
        description: 'why this build waits, or failed at once: its number, or the address of its page',
      },
      { flags: '--fix', description: 'show the plan of provision, ask, apply, check again' },
      { flags: '--no-probe', description: 'check no GPUs in a container' },
      probeTimeout,
      bundle,
      parallel,
    ],
    examples: [
      ['azp-fleet doctor h200-1', 'why does this host run no jobs?'],
      ['azp-fleet doctor', 'every host, the worst first'],
      ['azp-fleet doctor h200-1 --fix', 'and do what provision can do about it'],
      ['azp-fleet doctor --job 4711', 'why the jobs of build 4711 wait'],
    ],
    showsHealth: true,
    json: ['machine', 'hosts', 'fixed', 'job'],
    load: async () => (await import('./commands/doctor.ts')).run,
  },
  {
    name: 'diagnose',
    group: 'Repair',
    offline: true,
    summary: 'diagnose saved outputs of nvidia-smi or kernel logs; contacts no host',
    description:
      'Reads the output of `nvidia-smi`, `nvidia-smi -q` or `nvidia-smi -q -x`, of `dmesg` or `journalctl -k` in any text format, and nvidia-bug-report.log.gz; - is standard input. Shows what it recognized.',
    positionals: '<files...>',
    inventory: false,
    examples: [
      ['azp-fleet diagnose smi.xml dmesg.txt', 'two files'],
      ['azp-fleet diagnose nvidia-bug-report.log.gz', 'what nvidia-bug-report.sh wrote'],
      ['ssh h200-1 dmesg | azp-fleet diagnose -', 'from a pipe'],
    ],
    json: ['files'],
    load: async () => (await import('./commands/diagnose.ts')).run,
  },
  {
    name: 'explain',
    group: 'Repair',
    offline: true,
    summary: 'print what a code means and what fixes it',
    description: 'A code is in square brackets behind each message: [ssh.auth]. Contacts no host.',
    positionals: '<code>',
    inventory: false,
    examples: [
      ['azp-fleet explain ssh.auth', 'a code from a message'],
      ['azp-fleet explain xid.79', 'an error number of the GPU driver'],
    ],
    json: ['code', 'subject', 'cause', 'fix', 'finding'],
    load: async () => (await import('./commands/explain.ts')).run,
  },
];

/** Commands to the managers. They need no Azure DevOps token: each manager has its own. */
const slotCommands: readonly CommandSpec[] = [
  {
    name: 'logs',
    group: 'Inspect',
    summary: "the last runs of a host's agents, or the output of one slot",
    description:
      'HOST lists runs with job, result and duration; HOST/SLOT prints the log of its current or last run: as plain text on a terminal, unchanged into a pipe. With --follow it prints the output of the running jobs until they end; Ctrl-C leaves them running.',
    positionals: '<target>',
    options: [
      { flags: '--runs', description: 'list the runs of HOST/SLOT instead of its output' },
      { flags: '--last <n>', description: 'how many runs', default: '20' },
      { flags: '--tail <n>', description: 'how many lines', default: '200' },
      {
        flags: '--diag',
        description: "the agent's own logs (_diag) of the last failed run of HOST/SLOT, or of --run",
      },
      {
        flags: '--run <id>',
        description: 'the run with this ID: --runs shows them from 100 columns on, and --json',
      },
      {
        flags: '-f, --follow',
        description: 'print the output of the jobs that run on HOST or HOST/SLOT until they end',
      },
    ],
    examples: [
      ['azp-fleet logs h200-1', 'recent runs'],
      ['azp-fleet logs h200-1/0', 'the output of slot 0'],
      ['azp-fleet logs h200-1 -f', 'the output of all running jobs, until they end'],
      ['azp-fleet logs h200-1/0 --diag', 'agent logs of its last failed run'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runLogs,
  },
  {
    name: 'history',
    group: 'Inspect',
    summary: 'what happened on hosts, and who changed them',
    description:
      "Changes of verdict, driver, image and configuration, reboots, quarantines, drains and runs, by time, then for each host the jobs, failures by cause and hours busy of each GPU in the last 7 days. Each manager keeps 14 days. With --audit it reads the hosts' audit files and that of this machine, and names runs that a host's file lacks; root on a host can rewrite its file, and the system log has the same lines.",
    positionals: '[hosts...]',
    options: [
      {
        flags: '--since <time>',
        description:
          'how long ago (36h, 7d), or a time such as 2026-11-22T05:40:00Z; without it 2d, with --audit all',
      },
      { flags: '--audit', description: 'who changed the hosts: when, from where, what, with which outcome' },
    ],
    examples: [
      ['azp-fleet history h200-1', 'the last two days of a host'],
      ['azp-fleet history --since 7d', 'a week of all hosts, by time'],
      ['azp-fleet history --audit --since 30d', 'who changed which host'],
      ['azp-fleet history hopper --since 2026-11-22T05:40:00Z --json', 'for a program'],
    ],
    json: ['since', 'hosts', 'entries'],
    load: async () => (await import('./commands/history.ts')).run,
  },
  {
    name: 'drain',
    group: 'Change',
    summary: 'stop agents from taking jobs; running jobs continue',
    positionals: '[targets...]',
    options: [
      { flags: '--slot <slot>', description: 'only this slot of each host; repeatable', repeat: true },
      { flags: '--wait', description: 'wait until no job runs' },
      { flags: '--drain-timeout <duration>', description: 'with --wait: how long at most', default: '4h' },
      { flags: '--reason <text>', description: 'shown in status and on the agent in Azure DevOps' },
      {
        flags: '--until <time>',
        description: 'ends by itself at this local time, today or tomorrow: 18:00',
      },
    ],
    examples: [
      ['azp-fleet drain h200-1 --wait', 'before maintenance'],
      ['azp-fleet drain h200-1/3 --reason "fan"', 'one slot'],
      ['azp-fleet drain h200-1 --until 18:00', 'ends by itself'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runDrain,
  },
  {
    name: 'undrain',
    group: 'Change',
    summary: 'let agents take jobs again',
    description:
      'Ends your own drains, and those of interrupted runs. Where another drain remains, it says whose, and exits 1.',
    positionals: '[targets...]',
    options: [
      { flags: '--slot <slot>', description: 'only this slot of each host; repeatable', repeat: true },
      { flags: '--of <user>', description: "end this user's drains, not your own" },
    ],
    examples: [
      ['azp-fleet undrain h200-1', 'all its slots'],
      ['azp-fleet undrain h200-1/3', 'one slot'],
      ['azp-fleet undrain h200-1 --of ann', "ann's drains"],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runUndrain,
  },
  {
    name: 'repaired',
    group: 'Repair',
    summary: 'GPUs were reset or replaced: ignore their earlier errors',
    description:
      'A GPU error in the kernel log (XID) counts until the next boot, a slot whose GPU fails repeatedly stays closed for a while, and a card whose PCIe link lost lanes degrades its host. After a reset or replacement without a reboot this command clears all three; the manager checks the GPU at once.',
    positionals: '<hosts...>',
    options: [
      {
        flags: '--gpu <address>',
        description: 'only this GPU (PCI address, as in the findings); repeatable; default: all of the host',
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
      'Each manager sends a test message from its host, and reports whether the webhook accepted it. docs/monitoring.md lists the other messages.',
    positionals: '<hosts...>',
    examples: [['azp-fleet webhook h200-1', 'after webhook: was set and provisioned']],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runWebhook,
  },
  {
    name: 'adopt',
    group: 'Repair',
    summary: 'take over agent names that another installation holds in the pool',
    description:
      'After a reinstallation the agent names belong to the earlier installation. Lists these names and asks; refused while the other agent is online or has a job. "azp-fleet provision --adopt" does the same.',
    positionals: '<targets...>',
    options: [
      { flags: '--slot <slot>', description: 'only this slot of each host; repeatable', repeat: true },
    ],
    examples: [
      ['azp-fleet adopt h200-1', 'all agent names of the host'],
      ['azp-fleet adopt h200-1/3', 'one slot'],
    ],
    json: ['hosts'],
    load: async () => (await import('./commands/managers.ts')).runAdopt,
  },
];

/** Commands that need only SSH. They do not read the Azure DevOps token. */
const sshCommands: readonly CommandSpec[] = [
  {
    name: 'exec',
    group: 'Inspect',
    summary: 'run a command on many hosts; equal outputs are shown once',
    description:
      'Runs as root (through sudo where needed). One word after -- is shell text; several words are a command with its arguments. The output is escaped on a terminal and unchanged in a pipe.',
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
    group: 'Inspect',
    summary: "log in to a host with the system's ssh and the inventory's settings",
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
    offline: true,
    summary: 'write the hosts to ~/.ssh/config, for ssh, scp, rsync and editors',
    description:
      'Prints what it would write: a separate file, and one Include at the top of ~/.ssh/config, which otherwise stays unchanged. The entries use the same jump hosts and pinned keys as azp-fleet. Run it again when the inventory has changed.',
    positionals: '[hosts...]',
    options: [
      { flags: '--write', description: 'write the files' },
      { flags: '--remove', description: 'remove the files; needs no inventory' },
    ],
    examples: [
      ['azp-fleet ssh-config', 'what would be written'],
      ['azp-fleet ssh-config --write && rsync -a data/ h200-1:/data/', 'copy to a host by its name'],
    ],
    json: ['hosts', 'files', 'written'],
    load: async () => (await import('./commands/ssh-config.ts')).run,
  },
  {
    name: 'trust',
    summary: "collect the hosts' keys for review and pin them in the inventory",
    description: 'Does not log in. Compare the fingerprints with those on the machines before you confirm.',
    positionals: '[hosts...]',
    examples: [
      ['azp-fleet trust', 'all hosts, then asks'],
      ['azp-fleet trust h200-1 --yes', 'after you reinstalled it yourself'],
    ],
    json: ['keys'],
    load: async () => (await import('./commands/trust.ts')).run,
  },
];

const tables: readonly CommandSpec[] = [
  ...startCommands,
  ...inventoryCommands,
  ...fleetCommands,
  ...slotCommands,
  ...imageCommands,
  ...bundleCommands,
  ...poolCommands,
  ...sshCommands,
];

/**
 * All commands, in the order of `--help`. The tables contain declarations only and import nothing heavy, because
 * they are read at every start.
 */
export const commands: readonly CommandSpec[] = groupTitles.flatMap((title) =>
  tables.filter((spec) => groupOf(spec) === title),
);
