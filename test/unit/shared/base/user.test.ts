import { userInfo } from 'node:os';

import { expect, test } from 'vitest';

import { currentUser } from '../../../../src/shared/base/user.ts';

const none = (): never => {
  throw new Error('A system error occurred: uv_os_get_passwd returned ENOENT (no such file or directory)');
};

test('a user is the one of passwd', () => {
  const { username, homedir } = userInfo();
  expect(currentUser({ USER: 'other', HOME: '/other' })).toMatchObject({ username, homedir });
});

test('a uid without an entry in passwd is the user of the environment, else its number', () => {
  expect(currentUser({ USER: 'ann', HOME: '/home/ann' }, none)).toEqual({
    username: 'ann',
    homedir: '/home/ann',
  });
  expect(currentUser({ LOGNAME: 'ann' }, none)).toEqual({ username: 'ann', homedir: '/' });
  expect(currentUser({}, none)).toEqual({ username: String(process.getuid?.()), homedir: '/' });
});
