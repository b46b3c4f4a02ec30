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
    load: () => import('./ssh-config.ts'),
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
