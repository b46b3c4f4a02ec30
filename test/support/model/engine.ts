import { deadlines } from '../../../src/shared/engine/fault.ts';
import { isUp, type Engine, type Removal } from '../../../src/shared/engine/engine.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Identity } from './agent.ts';
import type { Boundary, Killable } from './boundary.ts';
import {
  dockerGone,
  dockerSays,
  dockerSilent,
  type ModelContainer,
  reference,
  type Dockerd,
} from './containers.ts';
import type { Judge } from './judge.ts';

const pollMs = 200;

/** Returns the engine's interface to the modelled dockerd, with the errors of the real one. */
export function modelEngine(dockerd: Dockerd, boundary: Boundary, judge: Judge, daemon: Killable): Engine {
  const call = <Value>(name: string, work: () => Value): Promise<Value> =>
    boundary.call(daemon, `engine.${name}`, () => {
      if (!dockerd.isUp) throw dockerGone();
      return work();
    });
  const unused = (name: string) => (): never => {
    throw new Error(`the manager never calls ${name} here`);
  };
  /** Answers when the removal has ended, as dockerd does. */
  const remove = async (name: string, id: string, force: boolean): Promise<Removal> => {
    const begun = await call<Removal | ModelContainer>(name, () => {
      const container = dockerd.containers.get(id);
      if (container === undefined) return 'removed';
      if (container.isBeingRemoved) {
        judge.asksAgain(container);
        return 'removing';
      }
      if (isUp(container) && !force) return 'running';
      judge.removes(container);
      dockerd.remove(container);
      return container;
    });
    if (typeof begun === 'string') return begun;
    for (let waited = 0; begun.isBeingRemoved; waited += pollMs) {
      await sleep(pollMs);
      if (waited >= deadlines.normal) throw dockerSilent();
    }
    if (dockerd.containers.get(id) === begun) throw dockerSays(500, 'device or resource busy');
    return 'removed';
  };
  const outputOf = (id: string): ModelContainer => {
    const container = dockerd.get(id);
    if (container.isBeingRemoved || container.state === 'dead')
      throw dockerSays(409, 'can not get logs from container which is dead or marked for removal');
    return container;
  };
  return {
    version: () => call('version', () => ({ version: '28.0.0', apiVersion: '1.48' })),
    info: () =>
      call('info', () => ({
        cgroupDriver: 'systemd',
        cgroupVersion: '2',
        cdiSpecDirs: [],
        rootDir: '/var/lib/docker',
        runtimes: [],
        kernel: '6.8.0-45-generic',
        mountOptions: undefined,
        storage: { driver: 'overlay2', byContainerd: false },
        now: Number.NaN,
      })),
    listOwn: (filter = {}) => call('listOwn', () => dockerd.list(filter)),
    create: (name, options) => call('create', () => dockerd.create(name, options).id),
    putArchive: (id, _path, archive) =>
      call('putArchive', () => {
        const container = dockerd.get(id);
        container.identity = identityIn(archive) ?? container.identity;
      }),
    getArchive: (_, path) =>
      call('getArchive', () => {
        throw dockerSays(404, `Could not find the file ${path}`);
      }),
    readTails: (id) =>
      call('readTails', () => {
        dockerd.get(id);
        return [];
      }),
    start: (id) =>
      call('start', () => {
        const container = dockerd.get(id);
        judge.starts(container);
        dockerd.start(container);
      }),
    startWithInput: unused('startWithInput'),
    awaitEnd: unused('awaitEnd'),
    stop: async (id, timeoutS) => {
      const process = await call('stop', () => {
        const container = dockerd.containers.get(id);
        if (container === undefined || !isUp(container)) return undefined;
        judge.stops(container);
        dockerd.unpause(container);
        container.process?.interrupt();
        return container.process;
      });
      const isOver = (): boolean => process?.over !== false;
      for (let waited = 0; !isOver(); waited += pollMs) {
        await sleep(pollMs);
        if (waited >= timeoutS * 1000) await call('stop', () => process?.kill());
      }
    },
    isRunning: (id) => call('isRunning', () => isUp(dockerd.get(id))),
    exit: (id) => call('exit', () => dockerd.get(id).exit),
    logs: (id, tail) =>
      call('logs', () => {
        const lines = outputOf(id).lines.slice(-tail);
        return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
      }),
    async *followLogs(id, signal) {
      const container = await call('followLogs', () => outputOf(id));
      if (!isUp(container)) yield* container.lines;
      else yield* untilKilled(container.output.follow(container.lines, signal), daemon);
    },
    remove: (id) => remove('remove', id, true),
    removeUnlessRunning: (id) => remove('removeUnlessRunning', id, false),
    imageId: (name) => call('imageId', () => (name === reference ? dockerd.localImage : undefined)),
    imageLabel: () => call('imageLabel', () => undefined),
    pull: (name) =>
      call('pull', () => {
        if (name !== reference) throw dockerSays(404, 'manifest unknown');
        dockerd.pull();
      }),
    build: unused('build'),
    push: unused('push'),
    listOwnImages: () => call('listOwnImages', () => dockerd.ownImages()),
    removeImage: (id) => call('removeImage', () => dockerd.removeImage(id)),
    networksNamed: (name) => call('networksNamed', () => dockerd.networksNamed(name)),
    createNetwork: (options) => call('createNetwork', () => dockerd.createNetwork(options)),
    freeEndpoint: () => call('freeEndpoint', () => undefined),
    running: () =>
      call('running', () =>
        [...dockerd.containers.values()].filter(isUp).map(({ name, labels }) => ({ name, labels })),
      ),
    withLabel: () => call('withLabel', () => ({ containers: [], networks: [] })),
    removeNetwork: (id) =>
      call('removeNetwork', () => {
        if (dockerd.containers.size > 0) return;
        dockerd.networks.splice(
          0,
          dockerd.networks.length,
          ...dockerd.networks.filter((each) => each.id !== id),
        );
      }),
    run: unused('run'),
    async *events(signal) {
      const events = await call('events', () => dockerd.events);
      yield* untilKilled(events.follow([], signal), daemon);
    },
  };
}

/** Ends the stream once the process is killed. */
async function* untilKilled<Value>(stream: AsyncGenerator<Value>, daemon: Killable): AsyncGenerator<Value> {
  for await (const value of stream) {
    if (daemon.over) return;
    yield value;
  }
}

/** Returns the identity of the registration in an archive. */
function identityIn(archive: Buffer): Identity | undefined {
  const text = archive.toString('latin1');
  const [, agentId] = /"agentId":(\d+)/.exec(text) ?? [];
  const [, poolId] = /"poolId":(\d+)/.exec(text) ?? [];
  const [, name] = /"agentName":"([^"]+)"/.exec(text) ?? [];
  const [, key] = /"modulus":"([^"]+)"/.exec(text) ?? [];
  if (agentId === undefined || poolId === undefined || name === undefined || key === undefined)
    return undefined;
  return { agentId: Number(agentId), poolId: Number(poolId), name, key };
}
