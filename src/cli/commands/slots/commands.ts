import type { CommandSpec } from '../../command.ts';

/** What is asked of the managers. The credential of Azure DevOps is not touched: they have their own. */
export const slotCommands: readonly CommandSpec[] = [
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
    load: () => import('./logs.ts'),
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
    load: () => import('./drain.ts'),
  },
  {
    name: 'undrain',
    summary: 'let agents take jobs again',
    positionals: '[hosts...]',
    options: [{ flags: '--slot <slot>', description: 'only this slot; repeatable', repeat: true }],
    examples: [['azp-fleet undrain h200-1', 'all its slots']],
    json: ['hosts'],
    load: () => import('./undrain.ts'),
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
    load: () => import('./repaired.ts'),
  },
  {
    name: 'webhook',
    summary: "send a test message to hosts' webhooks",
    description:
      'Each manager sends a message that says that it is a test, from the host and by the way that its messages take, and says what came of it. docs/monitoring.md tells what is sent otherwise.',
    positionals: '<hosts...>',
    examples: [['azp-fleet webhook h200-1', 'after webhook: was set and provisioned']],
    json: ['hosts'],
    load: () => import('./webhook.ts'),
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
    load: () => import('./adopt.ts'),
  },
];
