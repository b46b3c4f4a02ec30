import { describe, expect, test } from 'vitest';

import {
  bootCommand,
  bootProgram,
  type BootRequest,
  scriptLine,
} from '../../../../../src/fleet/ssh/session/bootstrap.ts';

function boot(parts: Partial<BootRequest> = {}): BootRequest {
  return {
    nonce: 'n0',
    as: 'root',
    elevation: 'unknown',
    canAnswer: true,
    limitS: 70,
    input: false,
    ...parts,
  };
}

describe('the command of an exec', () => {
  test('has nothing that a login shell could take differently', () => {
    const command = bootCommand(boot());
    expect(command).toMatch(/^exec \/bin\/sh -c '[A-Za-z0-9+/=$()"| -]*'$/);
  });

  test('holds neither script nor password', () => {
    expect(bootCommand(boot())).toBe(bootCommand(boot()));
    expect(scriptLine('a\nb\n')).toBe('a\u0001b\u0001\n');
    expect(() => scriptLine('a\u0001b')).toThrow(TypeError);
  });

  test.each([
    ['the login user', { as: 'login' as const }, /^exec timeout -k 5 70 \/bin\/sh -c /],
    ['root', { elevation: 'none' as const }, /^exec timeout /m],
    ['sudo without a password', { elevation: 'free' as const }, /^exec sudo -n -H \/bin\/sh -c /m],
    [
      'sudo with one',
      { elevation: 'password' as const },
      /^exec sudo -S -H -p '@n0 password:' \/bin\/sh -c /m,
    ],
  ])('for %s', (_case, parts, expected) => {
    expect(bootProgram(boot(parts))).toMatch(expected);
  });

  test('asks for no password where none could be given', () => {
    expect(bootProgram(boot({ canAnswer: false }))).not.toContain('sudo -S');
  });
});
