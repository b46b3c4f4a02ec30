import { expect, test } from 'vitest';
import { worthKeeping, xidsSinceBoot } from '../../../../src/manager/gpus/remembered.ts';

const lost = { xid: 79, gpu: '0000:84:00.0', text: 'GPU has fallen off the bus.' };
const line = '[ 12.000001] NVRM: Xid (PCI:0000:84:00): 79, GPU has fallen off the bus.';
const fault = '[ 12.000002] NVRM: Xid (PCI:0000:84:00): 31, MMU Fault';
const mark = '[ 13.000001] azp-fleet: gpu repaired 0000:84:00.0';

test.each([
  ['it is in the log', [], line, ['79']],
  ['it is in the log and was seen earlier: counted once', [lost], line, ['79']],
  ['the log has forgotten it', [lost], '', ['79']],
  ['the log has forgotten it, and the GPU was repaired since', [lost], mark, []],
  ['repaired, and lost again', [lost], `${mark}\n${line}`, ['79']],
  ['another GPU was repaired', [lost], mark.replace('84', '83'), ['79']],
  ['what is not fatal is not kept', [], `${fault}\n${line}`, ['31', '79']],
])('%s', (_, earlier, log, seen) => {
  const xids = xidsSinceBoot(earlier, log);
  expect(xids.map(({ xid }) => String(xid))).toEqual(seen);
  expect(worthKeeping(xids)).toEqual(seen.includes('79') ? [lost] : []);
});

test('a storm of one error is kept as one', () => {
  expect(worthKeeping(xidsSinceBoot([], `${line}\n`.repeat(1000)))).toEqual([lost]);
});
