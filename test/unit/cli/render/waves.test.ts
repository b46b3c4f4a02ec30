import { expect, it } from 'vitest';

import type { WavesPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import { wavesText } from '../../../../src/cli/render/plan.ts';

const none: WavesPlan = {
  maxUnavailable: '25%',
  maxFailures: '0',
  proveFirst: [],
  waves: [],
  emptied: [],
  held: [],
};
const wave = (...hosts: string[]) => ({ canary: false, hosts });
const canary = (...hosts: string[]) => ({ canary: true, hosts });
const lines = (plan: Partial<WavesPlan>, width = 80) =>
  wavesText({ ...none, ...plan }, { paint: (_, text) => text, width })?.split('\n');
const head = 'Waves: each starts once the previous is healthy; at most 25% of a pool at a time';

it('one host has no waves', () => {
  expect(lines({ waves: [canary('h200-1')] })).toBeUndefined();
});

it('names the canaries and the waves', () => {
  expect(lines({ waves: [canary('h200-1', 'l40s-1'), canary('odd'), wave('h200-2', 'h200-3')] })).toEqual([
    head,
    '  1 canaries: h200-1, l40s-1',
    '  2 canary: odd',
    '  3: h200-2, h200-3',
  ]);
});

it('waves of a removal end with done, and pools stay empty', () => {
  expect(lines({ waves: [canary('a'), wave('b')], emptied: ['solo'], removes: true })).toEqual([
    'Waves: each starts once the previous is done; at most 25% of a pool at a time',
    '  1 canary: a',
    '  2: b',
    '  ! pool solo has no agents afterwards',
  ]);
});

it('summarizes many waves in a line', () => {
  const hosts = Array.from({ length: 40 }, (_, index) => `gpu-${String(index).padStart(2, '0')}`);
  const waves = hosts.map((host, index) => ({ canary: index === 0, hosts: [host] }));
  expect(lines({ waves, maxUnavailable: '1' })).toEqual([
    'Waves: each starts once the previous is healthy; at most 1 of a pool at a time',
    '  1 canary: gpu-00',
    ...hosts.slice(1, 7).map((host, index) => `  ${index + 2}: ${host}`),
    '  8 to 40: gpu-[07-39], at most 1 at a time',
  ]);
});

it('shows hosts verified first, pools without agents, and hosts not started', () => {
  const held = ['a', 'b'].map((host) => ({
    host,
    what: 'pool gpu-lab can be without 1 of its 3 hosts, and gpu-9 takes no jobs already',
    next: 'fix gpu-9, or allow more with --max-unavailable',
  }));
  expect(lines({ proveFirst: ['left'], waves: [canary('solo')], emptied: ['lonely'], held })).toEqual([
    head,
    '  0: left, left drained by an earlier run: verified first',
    '  1 canary: solo',
    '  ! pool lonely has no agents for a time',
    '  ✗ a, b, not started: pool gpu-lab can be without 1 of its 3 hosts, and gpu-9',
    '    takes no jobs already',
    '    next: fix gpu-9, or allow more with --max-unavailable',
  ]);
});
