import { expect, test } from 'vitest';
import { runCommand, type RunCommand } from '../../../../src/manager/machine/command.ts';
import { Logins, programIn, programOf } from '../../../../src/manager/other-processes/owners.ts';
import { printed } from '../../../support/rig-programs.ts';

test.each([
  ['/usr/bin/python3.11\0-u\0/home/alice/train.py\0--lr\x001e-4\0', 'train.py'],
  ['python\0-m\0torch.distributed.run\0train.py\0', 'torch.distributed.run'],
  ['python3\0-c\0import torch; print(1)\0', 'python3'],
  ['python3\0', 'python3'],
  ['/opt/app/a.out\0--x\0', 'a.out'],
  ['bash\0/tmp/run.sh\0', 'run.sh'],
  ['torchrun\0--nproc_per_node=8\0train.py\0', 'train.py'],
  ['ollama runner\0', 'ollama runner'],
  ['', undefined],
  ['\0\0', undefined],
])('the program of %j is %s', (commandLine, program) => {
  expect(programIn(commandLine)).toBe(program);
});

test('the command line of a hung process is not read', async () => {
  const command: RunCommand = () => Promise.reject(new Error('must not be run'));
  expect(await programOf(command, { pid: 1, state: 'D' })).toBeUndefined();
});

test('the program of a real process is read', async () => {
  expect(await programOf(runCommand, { pid: process.pid, state: 'S' })).toBeDefined();
});

test('logins are read once, and a uid without one is shown as a number', async () => {
  const calls: string[] = [];
  const command: RunCommand = (_, args) => {
    calls.push(args.join(' '));
    return Promise.resolve(
      args[1] === '1000' ? printed('alice:x:1000:1000::/home/alice:/bin/sh\n') : { ...printed(''), code: 2 },
    );
  };
  const logins = new Logins(command);
  expect([await logins.of(1000), await logins.of(1000), await logins.of(4242)]).toEqual([
    'alice',
    'alice',
    'uid 4242',
  ]);
  expect(calls).toEqual(['passwd 1000', 'passwd 4242']);
});

test('a directory service that does not answer is asked again the next time', async () => {
  let calls = 0;
  const logins = new Logins(() => {
    calls += 1;
    return Promise.resolve({ ...printed(''), code: -1, timedOut: true });
  });
  await logins.of(1000);
  await logins.of(1000);
  expect(calls).toBe(2);
});
