import fc from 'fast-check';
import { act, anyAgent, containerAt, minute, placeAt, span, type Act } from './act.ts';

/** Work for agents. */
export const jobs: fc.Arbitrary<Act> = fc
  .tuple(
    anyAgent,
    fc.oneof(fc.integer({ min: 1_000, max: minute }), fc.integer({ min: minute, max: 40 * minute })),
  )
  .map(([at, takesMs]) =>
    act(`job of ${Math.round(takesMs / 1000)} s for agent ${at}`, (world) => {
      const place = placeAt(world, at);
      if (place !== undefined) world.server.queue(place.agent, takesMs);
    }),
  );

/** Events of agents. */
export const agents: fc.Arbitrary<Act> = fc.oneof(
  anyAgent.map((at) =>
    act(`the job of container ${at} ends`, (world) => containerAt(world, at)?.process?.hurry()),
  ),
  {
    weight: 3,
    arbitrary: fc.tuple(anyAgent, fc.option(span, { nil: undefined })).map(([at, ms]) =>
      act(`container ${at} is paused${ms === undefined ? '' : ` for ${ms} ms`}`, (world) => {
        const container = containerAt(world, at);
        if (container === undefined) return;
        world.dockerd.pause(container);
        if (ms !== undefined) world.timeline.after(ms, () => world.dockerd.unpause(container));
      }),
    ),
  },
  anyAgent.map((at) => act(`container ${at} is killed`, (world) => containerAt(world, at)?.process?.kill())),
  anyAgent.map((at) =>
    act(`dockerd loses container ${at}`, (world) => {
      const container = containerAt(world, at);
      if (container !== undefined) world.dockerd.lose(container);
    }),
  ),
  fc.constant(
    act('processes that dockerd has lost exit', ({ dockerd }) => {
      for (const process of dockerd.lost) process.kill();
      dockerd.lost.clear();
    }),
  ),
  anyAgent.map((at) =>
    act(`the server ends the session of container ${at}`, (world) => {
      const process = containerAt(world, at)?.process;
      const { poolId = 0, agentId = 0 } = process?.identity ?? {};
      const entry = world.server.byId(poolId, agentId);
      if (process === undefined || entry?.session !== process) return;
      world.server.end(entry, process);
      process.reconnect();
    }),
  ),
  fc.constant(act('an agent will hang after its job', ({ troubles }) => void (troubles.hanging += 1))),
  fc.constant(act('a result will not arrive', ({ troubles }) => void (troubles.undelivered += 1))),
  fc.constant(act('an agent will be mute', ({ troubles }) => void (troubles.mute += 1))),
  span.map((ms) =>
    act(`agents reach no server for ${ms} ms`, ({ troubles, timeline }) => {
      troubles.networkUntil = timeline.now + ms;
    }),
  ),
);
