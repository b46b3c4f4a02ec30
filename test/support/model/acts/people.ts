import fc from 'fast-check';
import { Capabilities, Labels } from '../../../../src/shared/contract/paths.ts';
import { act, anyAgent, entryAt, placeAt, span, type Act } from './act.ts';

/** What users and other installations do. */
export const people: fc.Arbitrary<Act> = fc.oneof(
  fc.option(anyAgent, { nil: undefined }).map((at) =>
    act(`drain ${at ?? 'the host'}`, (world) => {
      const slot = at === undefined ? undefined : placeAt(world, at)?.slot;
      const body = { reason: 'new fan', ...(slot === undefined ? {} : { slots: [slot] }) };
      world.order('/v1/drain', body, world.judge.drains(slot ?? '*'));
    }),
  ),
  fc.tuple(anyAgent, fc.integer({ min: 1, max: 7 })).map(([at, nth]) =>
    act(`drain ${at}, and a job is queued at change ${nth}`, (world) => {
      const place = placeAt(world, at);
      if (place === undefined) return;
      world.order('/v1/drain', { slots: [place.slot] }, world.judge.drains(place.slot));
      world.boundary.scheduledActs.push({
        left: nth,
        moment: 'before',
        act: () => void world.server.queue(place.agent, 90_000),
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
      // The manager may have received it even if its answer is lost.
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
    act(`a person removes the owner of agent ${at}`, (world) => {
      const entry = entryAt(world, at);
      if (entry === undefined) return;
      const { [Capabilities.owner]: _, ...rest } = entry.userCapabilities;
      world.server.change(entry, () => (entry.userCapabilities = rest));
    }),
  ),
  anyAgent.map((at) =>
    act(`another owner registers agent ${at}`, (world) => {
      const place = placeAt(world, at);
      if (place === undefined) return;
      const before = world.server.named(place.poolId, place.agent);
      if (before?.session !== undefined || (before && world.server.assigned(before))) return;
      if (before !== undefined) world.server.delete(before);
      const entry = world.server.add(place.poolId, {
        name: place.agent,
        version: '4.275.0',
        osDescription: 'Linux',
        systemCapabilities: {},
        userCapabilities: { [Capabilities.owner]: 'another-owner', [Capabilities.host]: 'other' },
        publicKey: { exponent: 'AQAB', modulus: 'foreign' },
      });
      world.judge.foreign.add(entry.id);
    }),
  ),
  {
    weight: 3,
    arbitrary: fc.tuple(anyAgent, span, fc.boolean()).map(([at, ms, fails]) =>
      act(
        `a person removes container ${at} within ${ms} ms${fails ? ', which fails' : ''}`,
        ({ dockerd }) => {
          const all = [...dockerd.containers.values()];
          const container = all[at % Math.max(1, all.length)];
          if (container?.isBeingRemoved === false) dockerd.remove(container, { ms, fails });
        },
      ),
    ),
  },
  anyAgent.map((at) =>
    act(`another owner has a container beside slot ${at}`, (world) => {
      const { dockerd } = world;
      const place = placeAt(world, at);
      const [image] = dockerd.images.keys();
      const name = `other-${place?.agent ?? at}`;
      if (image === undefined || dockerd.named(name) !== undefined) return;
      const labels = {
        [Labels.kind]: 'agent',
        [Labels.slot]: place?.slot ?? '',
        [Labels.owner]: 'another-owner',
      };
      dockerd.create(name, { Image: image, Labels: labels }).state = 'running';
    }),
  ),
);
