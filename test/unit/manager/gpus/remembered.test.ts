import { expect, test } from 'vitest';
import {
  withRepair,
  fatalXids,
  xidsSinceBoot,
  type XidMemory,
} from '../../../../src/manager/gpus/remembered.ts';

const lost = { xid: 79, gpu: '0000:84:00.0', text: 'GPU has fallen off the bus.', at: 12.000001 };
const line = '[ 12.000001] NVRM: Xid (PCI:0000:84:00): 79, GPU has fallen off the bus.';
const later = line.replace('12.000001', '14.000001');
const fault = '[ 12.000002] NVRM: Xid (PCI:0000:84:00): 31, MMU Fault';
const nothing = { boot: 'b', events: [] };
const seen = { boot: 'b', events: [lost] };
const repaired = (memory: XidMemory, gpu = '0000:84:00.0') => withRepair(memory, gpu, 13);

test.each<readonly [string, XidMemory, string, readonly string[]]>([
  ['an XID in the log', nothing, line, ['79']],
  ['in the log and in memory: counted once', seen, line, ['79']],
  ['only in memory', seen, '', ['79']],
  ['repaired, and still in the log', repaired(seen), line, []],
  ['repaired, and no longer in the log', repaired(seen), '', []],
  ['repaired with all others', repaired(seen, 'all'), line, []],
  ['repaired, and failed again', repaired(seen), `${line}\n${later}`, ['79']],
  ['another GPU was repaired', repaired(seen, '0000:83:00.0'), '', ['79']],
  ['only fatal ones are kept', nothing, `${fault}\n${line}`, ['31', '79']],
])('%s', (_, memory, log, shown) => {
  const xids = xidsSinceBoot(memory, log);
  expect(xids.map(({ xid }) => String(xid))).toEqual(shown);
  expect(fatalXids(xids).map(({ xid }) => xid)).toEqual(shown.includes('79') ? [79] : []);
});

test('many equal errors are kept as one', () => {
  expect(fatalXids(xidsSinceBoot(nothing, `${line}\n`.repeat(1000)))).toEqual([lost]);
});

test('an NVLink error in the log that was not fatal hides no earlier fatal one of its number', () => {
  const xid = (text: string) =>
    `[ 12.0] NVRM: Xid (PCI:0000:84:00): 149, ${text} XC0 i0 Link 08 (0x004505c6)`;
  const memory = { boot: 'b', events: fatalXids(xidsSinceBoot(nothing, xid('NETIR_LINK_EVT Fatal'))) };
  const xids = xidsSinceBoot(memory, xid('NETIR_BER_EVENT Nonfatal'));
  expect(xids.map(({ text }) => text.split(' ')[1])).toEqual(['Fatal', 'Nonfatal']);
  expect(fatalXids(xids)).toEqual(memory.events);
});

test('only the last repair of a GPU is kept', () => {
  const twice = withRepair(withRepair(seen, '0000:84:00.0', 13), '0000:84:00.0', 20);
  expect(twice.repairs).toEqual([{ gpu: '0000:84:00.0', at: 20 }]);
});
