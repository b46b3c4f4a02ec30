import type { CommandSpec } from '../../command.ts';

/** Commands that need nothing of a host but SSH. The credential of Azure DevOps is not touched. */
export const sshCommands: readonly CommandSpec[] = [
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
    load: () => import('./exec.ts'),
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
    load: () => import('./ssh.ts'),
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
    load: () => import('./trust.ts'),
  },
];
