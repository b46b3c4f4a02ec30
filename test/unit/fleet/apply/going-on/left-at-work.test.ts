import { expect, it } from 'vitest';

import {
  aftermath,
  nothingAtWork,
  type Aftermath,
  type AtWork,
} from '../../../../../src/fleet/apply/going-on/left-at-work.ts';

const change: AtWork = {
  kind: 'change',
  change: { id: 'driver-1', title: 'install driver', owner: 'ann@laptop', state: 'running', code: undefined },
};
const unknown: AtWork = { kind: 'unknown' };
const others: AtWork = { kind: 'others' };

it.each<[string, AtWork, boolean, boolean, Aftermath['agents']]>([
  ['nothing was begun', nothingAtWork, false, false, 'back'],
  ['nothing was begun, and Ctrl-C', nothingAtWork, false, true, 'back'],
  ['a change has failed', nothingAtWork, true, false, 'back-if-well'],
  ['Ctrl-C after a change', nothingAtWork, true, true, 'kept'],
  ['a change goes on', change, true, false, 'kept'],
  ['a change goes on after Ctrl-C', change, true, true, 'kept'],
  ['a change goes on that we have not begun', change, false, false, 'kept'],
  ['it cannot be told what goes on', unknown, true, false, 'kept'],
  ['it cannot be told, and Ctrl-C', unknown, true, true, 'kept'],
  ['nothing was begun, and the host cannot be asked', unknown, false, false, 'back'],
  ['somebody else has the lock', others, true, false, 'leave'],
  ['somebody else has the lock, and Ctrl-C', others, false, true, 'leave'],
])('%s', (_, atWork, begun, interrupted, agents) => {
  expect(aftermath({ atWork, begun, interrupted }).agents).toBe(agents);
});
