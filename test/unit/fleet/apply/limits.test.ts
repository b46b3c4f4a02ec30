// How long what is done on a host may take, as the live picture tells it.
import { expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

it('says of each action how long it may take, where not all are known beforehand', async () => {
  const { actions } = change('then');
  const artifact = { kind: 'text', text: 'x', sha256: 'y' } as const;
  const upload = { kind: 'upload', artifact, path: '/opt/azp-fleet/node', mode: 0o755 } as const;
  const host = new FakeHost([{ ...change('a'), actions: [upload, ...actions] }, change('b')]);
  await applyHost(host.survey(), host.tools(), { exactFacts: false });
  const limits = host.events.flatMap((event) =>
    event.kind === 'change-start' || event.kind === 'change-limit' ? [event.limitMs] : [],
  );
  // The change, its upload before its turn and in it, its script; the next change.
  expect(limits).toEqual([undefined, undefined, 150_000, 60_000, 60_000]);
  const lines = host.events.flatMap((event) => (event.kind === 'change-output' ? [event.line] : []));
  expect(lines).toEqual(['sending node: waiting for other uploads', 'sending node']);
});
