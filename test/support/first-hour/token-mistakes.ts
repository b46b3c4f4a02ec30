import type { Helper, Mistake } from './mistake.ts';
import { token, type World } from './world.ts';

const typed = 'pool create --yes';

/** A person creates a token in a browser and stores it where the text says. */
const browser = (asked: RegExp, does: string, carry: Helper['carry']): Helper => ({
  who: 'ann in a browser',
  asked,
  does,
  carry,
});

const keep = (world: World, text: string) => world.write('token', text, 0o600);
const inEnv = (world: World) => world.edit('{ file: token,', '{ env: AZP_TOKEN,');

/** The token: its file and its permissions. */
export const tokenMistakes: readonly Mistake[] = [
  {
    name: 'there is no token yet',
    make: (world) => world.shell('rm token'),
    typed,
    place: '/home/ann.keller/token',
  },
  {
    name: 'the file of the token is empty',
    make: (world) => keep(world, ''),
    typed,
    place: '/home/ann.keller/token',
  },
  {
    name: 'the file of the token can be read by others',
    make: (world) => world.write('token', `${token}\n`, 0o644),
    typed,
    place: '/home/ann.keller/token',
  },
  {
    name: 'the file of the token is a folder',
    make: (world) =>
      world.shell(
        'rm token && mkdir -m 700 token && echo a-token-of-the-lab > token/lab && chmod 600 token/lab',
      ),
    typed,
    place: '/home/ann.keller/token',
    by: {
      who: 'ann',
      asked: /^correct its path in the inventory: it must be a file$/,
      does: 'writes file: token/lab',
      carry: (world) => world.edit('file: token,', 'file: token/lab,'),
    },
  },
  {
    name: 'the token is in quotes in its file',
    make: (world) => keep(world, `"${token}"\n`),
    typed,
    place: '/home/ann.keller/token',
  },
  {
    name: 'the token with a variable name before it',
    make: (world) => keep(world, `AZP_TOKEN=${token}\n`),
    typed,
    place: '/home/ann.keller/token',
  },
  {
    name: 'a second line below the token',
    make: (world) => keep(world, `${token}\nmade on Monday\n`),
    typed,
    place: '/home/ann.keller/token',
  },
  {
    name: 'the variable of the token is not set',
    make: inEnv,
    typed,
    place: 'AZP_TOKEN',
    by: {
      who: 'ann',
      asked: /^read -rs (AZP_TOKEN) && export \1$/,
      does: 'does so, and pastes the token',
      carry: (world, [, name = '']) => (world.env[name] = token),
    },
  },
  {
    name: 'the token itself in the inventory',
    make: (world) =>
      world.edit(
        '{ file: token, expires: 2027-06-01 }',
        'abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst',
      ),
    typed,
    place: 'inventory.yaml:2:8',
    by: {
      who: 'ann',
      asked: /write e\.g\. (token: \{ env: (AZP_TOKEN) \})/,
      does: 'revokes it, writes that, and exports a new one',
      carry: (world, [, line = '', name = '']) => {
        world.write('inventory.yaml', world.read('inventory.yaml').replace(/^token: .*$/m, line));
        world.env[name] = token;
      },
    },
  },
  {
    name: 'the token is of another organization',
    make: (world) => keep(world, 'a-token-of-somewhere-else\n'),
    typed,
    place: 'http://127.0.0.1:22222/lab',
    by: browser(
      /^check that the token is of this organization .* a new one, .* is made at \S+\/_usersSettings\/tokens$/,
      'makes one there, and pastes it into the file',
      (world) => keep(world, token),
    ),
  },
  {
    name: 'the token has expired',
    make: (world) => world.control.setToken('expired'),
    typed,
    place: 'http://127.0.0.1:22222/lab',
    by: browser(
      /^make a new token at \S+\/_usersSettings\/tokens, put it where "token:" of the inventory points/,
      'makes one, and pastes it into the file',
      (world) => world.control.setToken('valid'),
    ),
  },
  {
    name: 'the token may not manage pools',
    make: (world) => world.control.deny(['pools.create']),
    typed,
    place: 'agent pool gpu-lab',
    by: browser(
      /^give the token the scope "Agent Pools \(Read & manage\)" and its user the Administrator role for all pools/,
      'does both',
      (world) => world.control.deny([]),
    ),
  },
  {
    name: 'the token may not permit pipelines',
    make: async (world) => {
      await world.type('pool create --yes');
      await world.control.deny(['queues.authorize']);
    },
    typed: 'pool authorize --yes',
    place: 'project vision',
    by: browser(/^give the token the scope "Pipeline Resources \(Use and manage\)"/, 'does so', (world) =>
      world.control.deny([]),
    ),
  },
  {
    name: 'the end date of the token has passed',
    make: (world) => world.edit('2027-06-01', '2026-06-01'),
    typed,
    place: '2026-06-01',
    warns: true,
    by: browser(
      /^create a new one in Azure DevOps, store it in the same place/,
      'makes one, and writes its date',
      (world) => world.edit('2026-06-01', '2027-11-01'),
    ),
  },
  {
    name: 'a date that does not exist',
    make: (world) => world.edit('2027-06-01', '2027-06-31'),
    typed,
    place: 'inventory.yaml:2:',
    by: browser(/^replace it with an expected value$/, 'reads the date again', (world) =>
      world.edit('06-31', '06-30'),
    ),
  },
];
