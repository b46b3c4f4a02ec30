import type { Entries } from './entry.ts';

/** How a command was called, and what a run itself can come to. */
export const usageCodes = {
  bug: ['azp-fleet made a mistake', 'report it with the debug log'],
  'exec.timeout': ['a command had not ended after --timeout', 'run it again with a longer one'],
  interrupted: ['somebody pressed Ctrl-C', 'run the same command again: it goes on from what is there'],
  'init.exists': ['a file of that name exists already', 'name another with --output'],
  'init.write': ['the inventory cannot be written', 'choose a folder that can be written'],
  'setup.no-systemd': ['the machine has no systemd', 'use one that boots with systemd'],
  'setup.unsupported': ['the system is not supported', 'see docs/host-stack.md for those that are'],
  'usage.arguments': ['the arguments are not understood', 'see azp-fleet COMMAND --help'],
  'usage.control': ['what was typed has a control character', 'type it anew without'],
  'usage.exec': ['there is no command to run', 'put it behind two dashes'],
  'usage.file': ['a file that was named cannot be read', 'correct its name'],
  'usage.host': ['this is not a host', 'write address, user@address:port or name=user@address:port'],
  'usage.host-not-gone': ['--gone names a host of the inventory', 'take it out of the inventory first'],
  'usage.no-hosts': ['no host is left', 'run without the option that leaves them out'],
  'usage.no-terminal': ['there is nobody to ask', 'run it at a terminal, or with --yes'],
  'usage.option': ['the value of an option cannot be used', 'write what the message expects'],
  'usage.pipeline-kind': [
    'no agent of the pool can run such a pipeline',
    'change the inventory as the message says, or take another --kind',
  ],
  'usage.pool': ['it is not clear which pool is meant', 'name one that azp-fleet inventory list shows'],
  'usage.practice': ['a variable of the practice server cannot be used', 'unset it'],
  'usage.project-missing': ['no project is named', 'add --project, or projects: to the inventory'],
  'usage.rerun': ['there is no earlier run to take failed hosts from', 'run without --rerun'],
  'usage.shell': ['there is no completion for this shell', 'name bash, zsh or fish'],
  'usage.ssh': ['ssh needs exactly one host', 'name one; for many: azp-fleet exec'],
  'usage.target': ['the target is no host or slot', 'write HOST or HOST/SLOT'],
  'usage.two-inventories': ['two inventories were given', 'name one'],
} as const satisfies Entries;
