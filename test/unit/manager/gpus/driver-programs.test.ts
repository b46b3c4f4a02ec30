import { expect, test } from 'vitest';
import { DriverPrograms } from '../../../../src/manager/gpus/observe.ts';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { printed } from '../../../support/rig-programs.ts';

test('while a program hangs in the kernel no other is started, and each call names it', async () => {
  let hangs = true;
  const started: string[] = [];
  const driver = new DriverPrograms(async (program) => {
    started.push(program);
    if (program !== 'nvidia-modprobe') return printed('well');
    return { code: -1, output: '', timedOut: true, stillRunning: () => hangs };
  });
  expect(await driver.run('sh', [], 1, 'nvidia-smi')).toMatchObject({
    output: 'well',
    program: 'nvidia-smi',
  });
  await driver.run('nvidia-modprobe', [], 1);
  expect(driver.hanging).toBe('nvidia-modprobe');
  expect(await driver.run('sh', [], 1)).toMatchObject({ timedOut: true, program: 'nvidia-modprobe' });
  expect(started).toEqual(['sh', 'nvidia-modprobe']);
  hangs = false;
  expect(driver.hanging).toBeUndefined();
  expect(await driver.run('sh', [], 1)).toMatchObject({ output: 'well', timedOut: false });
});

test('programs run one after the other, also after one that failed to start', async () => {
  const { promise, reject } = Promise.withResolvers<CommandResult>();
  const started: string[] = [];
  const driver = new DriverPrograms((program) => {
    started.push(program);
    return program === 'first' ? promise : Promise.resolve(printed(''));
  });
  const first = driver.run('first', [], 1);
  const second = driver.run('second', [], 1);
  await Promise.resolve();
  expect(started).toEqual(['first']);
  reject(new Error('no'));
  await expect(first).rejects.toThrow('no');
  await second;
  expect(started).toEqual(['first', 'second']);
});
