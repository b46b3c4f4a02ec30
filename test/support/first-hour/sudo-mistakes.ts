import type { Mistake } from './mistake.ts';

const onSudo = { typed: 'exec h200-1 -- true', place: 'h200-1 · sudo' } as const;

export const sudoMistakes: readonly Mistake[] = [
  {
    ...onSudo,
    name: 'sudo needs a password, without a terminal',
    make: (world) => world.host.sudo('secret'),
    by: {
      who: 'ann',
      asked: /^run this at a terminal to be asked/,
      does: 'does so, and types the password',
      carry: (world) => (world.answers = [['sudo password of ann', 'secret']]),
    },
  },
  { ...onSudo, name: 'sudo requires a terminal', make: (world) => world.host.sudo('tty') },
  {
    ...onSudo,
    name: 'the user is not in sudoers',
    make: (world) => {
      world.host.sudo('outsider');
      world.answers = [['sudo password of ann', 'ann-s-password']];
    },
  },
  {
    ...onSudo,
    name: 'the wrong sudo password',
    make: (world) => {
      world.host.sudo('secret');
      world.edit('  user: ann', '  sudoPassword: { env: SUDO }\n  user: ann');
      world.env['SUDO'] = 'sekret';
    },
    by: {
      who: 'ann',
      asked: /^correct the password in the variable (\w+);/,
      does: 'exports the right one',
      carry: (world, [, name = '']) => (world.env[name] = 'secret'),
    },
  },
  {
    typed: 'exec h200-1 -- true',
    place: 'h200-1',
    name: 'the variable of the sudo password is not set',
    make: (world) => {
      world.host.sudo('secret');
      world.edit('  user: ann', '  sudoPassword: { env: SUDO }\n  user: ann');
    },
    by: {
      who: 'ann',
      asked: /^read -rs SUDO && export (SUDO)$/,
      does: 'does so, and types the password',
      carry: (world, [, name = '']) => (world.env[name] = 'secret'),
    },
  },
];
