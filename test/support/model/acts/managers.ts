import fc from 'fast-check';
import { configs } from '../configs.ts';
import { act, type Act } from './act.ts';

/** SIGKILL, and systemd starts it anew. */
export const kills: fc.Arbitrary<Act> = fc.integer({ min: 200, max: 20_000 }).map((ms) =>
  act(`the manager is killed, and back in ${ms} ms`, (world) => {
    world.kill();
    world.timeline.after(ms, () => world.start());
  }),
);

/** What becomes of the manager. */
export const managers: fc.Arbitrary<Act> = fc.oneof(
  {
    arbitrary: kills,
    weight: 5,
  },
  {
    arbitrary: fc.constant(
      act('the manager is restarted', (world) => {
        const { life } = world;
        world.stop();
        life?.ended.then(
          () => world.timeline.after(300, () => world.start()),
          () => undefined,
        );
      }),
    ),
    weight: 1,
  },
  {
    arbitrary: configs.map((config) =>
      act(`another configuration: ${JSON.stringify(config.agents)} ${config.agentName}`, (world) => {
        const { life } = world;
        world.stop();
        const begin = (): void => {
          world.config = config;
          world.timeline.after(500, () => world.start());
        };
        if (life === undefined) world.config = config;
        else life.ended.then(begin, () => undefined);
      }),
    ),
    weight: 2,
  },
  {
    arbitrary: fc.integer({ min: 5_000, max: 90_000 }).map((ms) =>
      act(`the power is cut, the machine is back in ${ms} ms`, (world) => {
        world.kill();
        world.dockerd.cutPower();
        world.disk.cutPower(world.chance);
        world.timeline.after(ms, () => world.start());
      }),
    ),
    weight: 1,
  },
);
