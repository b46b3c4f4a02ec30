// The limits of actions on a host, in the events for the live progress.
import { expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

it('emits the limit of each action if not all are known beforehand', async () => {
  const { actions } = change('then');
  const artifact = { kind: 'text', text: 'x', sha256: 'y' } as const;
  const upload = { kind: 'upload', artifact, path: '/opt/azp-fleet/node', mode: 0o755 } as const;
  const host = new FakeHost([{ ...change('a'), actions: [upload, ...actions] }, change('b')]);
  await applyHost(host.survey(), host.tools(), { exactFacts: false });
  const limits = host.events.flatMap((event) =>
    event.kind === 'change-start' || event.kind === 'change-limit' ? [event.limitMs] : [],
  );
  // The change, its upload while it waits and while it runs, its script; the next change.
  expect(limits).toEqual([undefined, undefined, 150_000, 60_000, 60_000]);
  const lines = host.events.flatMap((event) => (event.kind === 'change-output' ? [event.line] : []));
  expect(lines).toEqual(['sending node: waiting for other uploads', 'sending node']);
});
