import { ann, inItsPlace, type Mistake } from './mistake.ts';

const nothing = (): undefined => undefined;

/** Mistakes in the command and its folder. */
export const commandMistakes: readonly Mistake[] = [
  { name: 'a command is misspelt', make: nothing, typed: 'inventry list', place: 'inventry' },
  {
    name: 'a word of a group of commands is misspelt',
    make: nothing,
    typed: 'inventory chek',
    place: 'chek',
  },
  { name: 'an option is misspelt', make: nothing, typed: 'inventory list --limt hopper', place: '--limt' },
  { name: 'a host is misspelt', make: nothing, typed: 'inventory list h200-l', place: 'h200-l' },
  { name: 'a group is misspelt', make: nothing, typed: 'inventory list --limit hoper', place: 'hoper' },
  {
    name: 'the name and the limit have no host in common',
    make: nothing,
    typed: 'inventory list rtx-7 --limit hopper',
    place: '--limit hopper',
    by: ann(
      /^list the hosts, groups and labels: azp-fleet inventory list$/,
      'does so, and names h200-1',
      async (world) => {
        await world.type('inventory list');
        world.typed = 'inventory list h200-1 --limit hopper';
      },
    ),
  },
  {
    name: 'there is no inventory yet',
    make: async (world) => {
      await world.shell('rm inventory.yaml');
      world.env['AZP_TOKEN'] = 'a-token-of-the-lab';
    },
    typed: 'inventory check',
    place: 'inventory.yaml',
    by: ann(
      /or (azp-fleet init) HOST…/,
      'azp-fleet init h200-1=ann@192.0.2.4 --organization example',
      (world) => world.type('init h200-1=ann@192.0.2.4 --organization example'),
    ),
  },
  {
    name: 'the inventory has another name',
    make: (world) => world.shell('mv inventory.yaml lab.yml'),
    typed: 'inventory check',
    place: 'inventory.yaml',
    by: ann(/or pass yours with (-i) FILE$/, 'adds -i lab.yml', (world, [, option = '']) => {
      world.typed = `inventory check ${option} lab.yml`;
    }),
  },
  {
    name: 'the inventory is a folder',
    make: (world) => world.shell('mkdir lab && mv inventory.yaml token lab'),
    typed: 'inventory check -i lab',
    place: 'lab',
    by: ann(/^pass the file in it: (-i lab\/)FILE$/, 'names lab/inventory.yaml', (world, [, option = '']) => {
      world.typed = `inventory check ${option}inventory.yaml`;
    }),
  },
  {
    name: 'the inventory is written as PowerShell does',
    make: (world) =>
      world.shell('iconv -f UTF-8 -t UTF-16 inventory.yaml > sixteen && mv sixteen inventory.yaml'),
    typed: 'inventory check',
    place: 'inventory.yaml',
    by: ann(/^save it as (UTF-8)/, 'does so', (world, [, form = '']) =>
      world.shell(`iconv -f UTF-16 -t ${form} inventory.yaml > eight && mv eight inventory.yaml`),
    ),
  },
  {
    name: 'two inventories',
    make: (world) => world.shell('cp inventory.yaml old.yaml'),
    typed: 'inventory check -i inventory.yaml old.yaml',
    place: 'inventory.yaml, old.yaml',
    by: ann(/^name one inventory$/, 'names inventory.yaml', (world) => {
      world.typed = 'inventory check -i inventory.yaml';
    }),
  },
  {
    name: 'no command for the hosts',
    make: nothing,
    typed: 'exec h200-1 true',
    place: 'command',
    by: ann(/^put it after two dashes: azp-fleet exec -- /, 'does so', (world) => {
      world.typed = 'exec h200-1 -- true';
    }),
  },
  {
    name: 'a number in words, in an option',
    make: nothing,
    typed: 'exec --parallel many h200-1 -- true',
    place: '--parallel',
    by: ann(inItsPlace, 'writes 2', (world) => {
      world.typed = 'exec --parallel 2 h200-1 -- true';
    }),
  },
  {
    name: 'a question without a terminal',
    make: nothing,
    typed: 'pool create',
    place: 'agent pool gpu-lab',
    by: ann(/^run the command again with (--yes)/, 'does so', (world, [, option = '']) => {
      world.typed += ` ${option}`;
    }),
  },
  {
    name: 'a pipeline for an unknown pool',
    make: nothing,
    typed: 'pipeline gpu-lap',
    place: 'gpu-lap',
  },
  { name: 'a kind of pipeline is misspelt', make: nothing, typed: 'pipeline --kind matrx', place: 'matrx' },
  {
    name: 'a file for diagnose that is not there',
    make: nothing,
    typed: 'diagnose kernel.log',
    place: '/home/ann.keller/kernel.log',
    by: ann(/^save one: .* or journalctl -k > kernel\.log$/, 'does so', (world) =>
      world.write(
        'kernel.log',
        '[    1.000000] Linux version 6.1.0\n[    9.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n',
      ),
    ),
  },
];
