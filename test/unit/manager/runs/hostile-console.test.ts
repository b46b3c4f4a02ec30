// A job shares its agent's standard output, and can print any amount of anything.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { longestLine } from '../../../../src/shared/engine/frames.ts';
import {
  readLine,
  emptyTranscript,
  read,
  readAll,
  type Transcript,
} from '../../../../src/manager/runs/transcript.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

const starts = [
  '',
  '2026-11-21 02:00:00Z: ',
  '2026-11-21 02:00:00Z: Job ',
  '2026-11-21 02:00:00Z: Running job: ',
  '2026-11-21 02:00:00Z: Agent connect error: ',
  'An error occurred: ',
  'An error occurred: agent ',
  'Failed to create session. ',
  'azp-fleet: ',
];
const fillers = [
  'x',
  ' ',
  '.',
  ' completed with result: ',
  'agent ',
  ' Retrying until reconnected.',
  'ü',
  '\u001b[2K',
];

/** Returns the microseconds of processor time to read such a line, the best of five: others may use the processor, too. */
function cost(line: string): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < 20; n += 1) read(emptyTranscript, line);
    return process.cpuUsage(before).user;
  });
  return Math.min(...times);
}

describe('time', () => {
  test.each(starts.flatMap((start) => fillers.map((filler) => [start, filler] as const)))(
    'a line of %j and %j a hundred times as long does not take a hundred times as long',
    (start, filler) => {
      const short = start + filler.repeat(Math.ceil(longestLine / filler.length));
      const long = start + filler.repeat(Math.ceil((100 * longestLine) / filler.length));
      // Both are cut to the same length; uncut, the long one would take at least a hundred times as long.
      expect(cost(long)).toBeLessThan(30 * cost(short) + 30_000);
    },
  );
});

fault('endless-output', 'the size of an event is limited for any line', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...starts),
      fc.string({ unit: 'binary', maxLength: 20_000 }),
      (start, text) => {
        const event = readLine(start + text);
        expect(JSON.stringify(event).length).toBeLessThan(2 * longestLine + 200);
      },
    ),
  );
});

test('no output of a running job makes its agent idle', () => {
  const forged = [
    'Scanning for tool capabilities.',
    'Connecting to the server.',
    '2026-11-21 02:00:00Z: Listening for Jobs',
    '2026-11-21 02:00:00Z: Agent reconnected.',
    'A session for this agent already exists.',
    'Exiting...',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...forged)), (lines) => {
      const running = readAll(
        '2026-11-21 02:00:00Z: Listening for Jobs\n2026-11-21 02:00:00Z: Running job: a',
      );
      const after = lines.reduce<Transcript>(read, running);
      expect(after.phase).toBe('running');
    }),
  );
});

describe('pace', () => {
  let rig: ManagerRig;
  afterEach(() => rig.close());

  test('a job that prints markers without end causes few passes', async () => {
    rig = await ManagerRig.create();
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    rig.beginJob('box-0', 'first');
    await rig.until('busy', ['0']);
    const passes = (): number => rig.notified.filter((each) => each === 'alive').length;
    const before = passes();
    const markers = 3000;
    for (let n = 0; n < markers; n += 1) rig.beginJob('box-0', `marker-${n}`);
    await expect.poll(async () => (await rig.slot('0')).job).toBe(`marker-${markers - 1}`);
    expect(passes() - before).toBeLessThan(markers / 30);
  });
});
