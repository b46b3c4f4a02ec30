import fc from 'fast-check';
import { Capabilities, Labels } from '../../../../src/shared/contract/paths.ts';
import { act, anyAgent, entryAt, placeAt, type Act } from './act.ts';

/** What people do, here and in the pool, and other installations. */
export const people: fc.Arbitrary<Act> = fc.oneof(
  fc.option(anyAgent, { nil: undefined }).map((at) =>
    act(`drain ${at ?? 'the host'}`, (world) => {
      const slot = at === undefined ? undefined : placeAt(world, at)?.slot;
      const body = { reason: 'new fan', ...(slot === undefined ? {} : { slots: [slot] }) };
      world.order('/v1/drain', body, world.judge.drains(slot ?? '*'));
    }),
  ),
  fc.tuple(anyAgent, fc.integer({ min: 1, max: 7 })).map(([at, nth]) =>
    act(`drain ${at}, and a job comes at change ${nth}`, (world) => {
      const wanted = placeAt(world, at);
      if (wanted === undefined) return;
      world.order('/v1/drain', { slots: [wanted.slot] }, world.judge.drains(wanted.slot));
      world.boundary.ambushes.push({
        left: nth,
        moment: 'before',
        act: () => void world.server.queue(wanted.agent, 90_000),
      });
    }),
  ),
  fc.constant(
    act('undrain', (world) => {
      world.judge.undrains();
      world.order('/v1/undrain', {}, () => undefined);
    }),
  ),
  fc.constant(
    act('adopt', (world) => {
      // It may have come to the manager, though its answer has not come back.
      world.judge.adopted.add('*');
      world.order('/v1/adopt', {}, () => undefined);
    }),
  ),
  anyAgent.map((at) =>
    act(`a person disables agent ${at}`, (world) => {
      const entry = entryAt(world, at);
      if (
        entry === undefined ||
        !entry.enabled ||
        entry.userCapabilities[Capabilities.drainReason] !== undefined
      )
        return;
      world.server.change(entry, () => (entry.enabled = false));
      entry.heldByPersonAt = world.timeline.now;
    }),
  ),
  anyAgent.map((at) =>
    act(`a person enables agent ${at}`, (world) => {
      const entry = entryAt(world, at);
      if (entry === undefined) return;
      entry.heldByPersonAt = undefined;
      world.server.change(entry, () => (entry.enabled = true));
    }),
  ),
  anyAgent.map((at) =>
    act(`a person deletes agent ${at}`, (world) => {
      const entry = entryAt(world, at);
      if (entry !== undefined && world.server.assigned(entry) === undefined) world.server.delete(entry);
    }),
  ),
  anyAgent.map((at) =>
    act(`a person takes the mark of agent ${at} away`, (world) => {
      const entry = entryAt(world, at);
      if (entry === undefined) return;
      const { [Capabilities.owner]: _, ...rest } = entry.userCapabilities;
      world.server.change(entry, () => (entry.userCapabilities = rest));
    }),
  ),
  anyAgent.map((at) =>
    act(`another owner registers agent ${at}`, (world) => {
      const wanted = placeAt(world, at);
      if (wanted === undefined) return;
      const before = world.server.named(wanted.poolId, wanted.agent);
      if (before?.session !== undefined || (before && world.server.assigned(before))) return;
      if (before !== undefined) world.server.delete(before);
      const entry = world.server.add(wanted.poolId, {
        name: wanted.agent,
        version: '4.275.0',
        osDescription: 'Linux',
        systemCapabilities: {},
        userCapabilities: { [Capabilities.owner]: 'somebody', [Capabilities.host]: 'other' },
        publicKey: { exponent: 'AQAB', modulus: 'foreign' },
      });
      world.judge.foreign.add(entry.id);
    }),
  ),
  anyAgent.map((at) =>
    act(`another owner has a container beside slot ${at}`, (world) => {
      const { dockerd } = world;
      const wanted = placeAt(world, at);
      const [image] = dockerd.images.keys();
      const name = `other-${wanted?.agent ?? at}`;
      if (image === undefined || dockerd.named(name) !== undefined) return;
      const labels = {
        [Labels.kind]: 'agent',
        [Labels.slot]: wanted?.slot ?? '',
        [Labels.owner]: 'somebody',
      };
      dockerd.create(name, { Image: image, Labels: labels }).state = 'running';
    }),
  ),
);
