import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readApps, readMemory } from '../../../../src/manager/other-processes/listing.ts';

const gpu = 'GPU-513536b6-7d19-9063-b049-1e69664bb298';

describe('processes listed by nvidia-smi', () => {
  test.each([
    ['one', `${gpu}, 4121, 15974\n`, [{ gpu, pid: 4121, usedMiB: 15_974 }]],
    [
      'two',
      `${gpu}, 1, 2\n${gpu}, 3, 4\n`,
      [
        { gpu, pid: 1, usedMiB: 2 },
        { gpu, pid: 3, usedMiB: 4 },
      ],
    ],
    ['unknown memory', `${gpu}, 4121, [N/A]\n`, [{ gpu, pid: 4121 }]],
    ['memory without permission', `${gpu}, 4121, [Insufficient Permissions]\n`, [{ gpu, pid: 4121 }]],
    ['an unknown process', `${gpu}, [N/A], 300\n`, [{ gpu, usedMiB: 300 }]],
    ['none', '', []],
    ['CRLF line ends', `${gpu}, 4121, 5\r\n`, [{ gpu, pid: 4121, usedMiB: 5 }]],
    [
      'with a warning',
      `WARNING: infoROM is corrupted at gpu 0000:83:00.0\n${gpu}, 7, 8\n`,
      [{ gpu, pid: 7, usedMiB: 8 }],
    ],
    ['a heading', 'gpu_uuid, pid, used_gpu_memory [MiB]\n', []],
    ['more columns', `${gpu}, 4121, train, 5\n`, []],
    ['an invalid number', `${gpu}, 4121x, 5\n${gpu}, 12345678901234567890, 5\n`, []],
    ['XML', '<process_info><pid>1</pid></process_info>', []],
  ])('%s', (_, output, apps) => {
    expect(readApps(output)).toEqual(apps);
  });

  test('any output is parsed, in linear time', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), (output) => {
        for (const { pid } of readApps(output)) expect(pid === undefined || pid < 1e9).toBe(true);
      }),
    );
    expect(readApps(`${'GPU-a, '.repeat(200_000)}\n`)).toEqual([]);
    expect(readApps(`${gpu}, 1, 2\n`.repeat(100_000))).toHaveLength(20_000);
  });
});

test.each([
  ['a GPU', `${gpu}, 214, Disabled\n`, [[gpu, { usedMiB: 214, displays: false }]]],
  ['a GPU with an active display', `${gpu}, 214, Enabled\n`, [[gpu, { usedMiB: 214, displays: true }]]],
  ['a GPU without a display', `${gpu}, 0, [N/A]\n`, [[gpu, { usedMiB: 0, displays: false }]]],
  ['a GPU that does not report it', `${gpu}, [N/A], Disabled\n${gpu}, [Unknown Error], Disabled\n`, []],
  ['a lost GPU', 'Unable to determine the device handle for GPU0: 0000:83:00.0: GPU is lost.\n', []],
])('the memory in use of %s', (_, output, memory) => {
  expect([...readMemory(output)]).toEqual(memory);
});
