import fc from 'fast-check';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import { configs } from '../configs.ts';
import type { World } from '../world.ts';
import { act, type Act } from './act.ts';

/** Kills the manager; systemd starts it again. */
export const kills: fc.Arbitrary<Act> = fc.integer({ min: 200, max: 20_000 }).map((ms) =>
  act(`the manager is killed, and back in ${ms} ms`, (world) => {
    world.kill();
    world.timeline.after(ms, () => world.start());
  }),
);

/** Events of the manager. */
export const managers: fc.Arbitrary<Act> = fc.oneof(
  {
    arbitrary: kills,
    weight: 5,
  },
  {
    arbitrary: fc.constant(act('manager.json is deleted', deleteState)),
    weight: 1,
  },
  {
    arbitrary: fc.integer({ min: 200, max: 20_000 }).map((ms) =>
      act(`the manager is killed, manager.json is deleted, and the manager is back in ${ms} ms`, (world) => {
        world.kill();
        deleteState(world);
        world.timeline.after(ms, () => world.start());
      }),
    ),
    weight: 1,
  },
  {
    arbitrary: fc.constant(
      act('the manager is restarted', (world) => {
        const { daemon } = world;
        world.stop();
        daemon?.ended.then(
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
        reconfigure(world, config);
      }),
    ),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom({}, { team: 'vision' }, { team: 'speech' }).map((capabilities) =>
      act(`other capabilities: ${JSON.stringify(capabilities)}`, (world) => {
        reconfigure(world, { ...world.config, capabilities });
      }),
    ),
    weight: 1,
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

/** Writes the configuration and restarts the manager. */
function reconfigure(world: World, config: ManagerConfig): void {
  const { daemon } = world;
  world.stop();
  const begin = (): void => {
    world.config = config;
    world.timeline.after(500, () => world.start());
  };
  if (daemon === undefined) world.config = config;
  else daemon.ended.then(begin, () => undefined);
}

/** Deletes the state file; its previous version stays. Without one the host would be a new installation. */
function deleteState(world: World): void {
  const path = '/state/manager.json';
  if (!world.disk.has(path) || !world.disk.has(`${path}.previous`)) return;
  world.disk.remove(path);
  world.deletions += 1;
}
