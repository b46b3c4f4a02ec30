import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';

/**
 * The engine as one manager sees it: its containers are what they say of themselves, what it creates carries its owner id, and what another manager has created is not
 * there. Two that share an engine by mistake leave each other's agents alone.
 */
export function ownContainers(docker: Engine, owner: () => string): Engine {
  const engine = withTrueStates(docker);
  return {
    ...engine,
    create: (name, options) =>
      engine.create(name, { ...options, Labels: { ...options.Labels, [Labels.owner]: owner() } }),
    listOwn: async (filter) =>
      (await engine.listOwn(filter)).filter((container) => isOwn(container, owner())),
  };
}

/** What carries no owner is of an earlier version, or the CLI's: as it always was. Pure. */
function isOwn({ labels }: OwnContainer, owner: string): boolean {
  const known = labels[Labels.owner];
  return known === undefined || known === owner;
}

/**
 * The engine with a list that can be believed. dockerd tells of an end before its list does: some 10 to 100 ms, and, when
 * the disk was full, for ever (seen with 20.10), while a look at the container itself tells the truth. Whose end was
 * told, or whose output has ended, is looked at, and nobody else, so that it costs nothing.
 */
function withTrueStates(engine: Engine): Engine {
  const ended = new Set<string>();
  const settle = async (container: OwnContainer): Promise<OwnContainer> => {
    if (container.state !== 'running' || !ended.has(container.id)) return container;
    const isRunning = await engine.isRunning(container.id).catch((error: unknown) => {
      if (isEngineFault(error, 'engine.not-found')) return false;
      throw error;
    });
    if (!isRunning) return { ...container, state: 'exited' };
    ended.delete(container.id);
    return container;
  };
  const forgetting = (remove: Engine['remove']) => async (id: string) => {
    await remove(id);
    ended.delete(id);
  };
  return {
    ...engine,
    listOwn: async (filter) => Promise.all((await engine.listOwn(filter)).map(settle)),
    async *events(signal) {
      for await (const event of engine.events(signal)) {
        if (event.action === 'die') ended.add(event.id);
        if (event.action === 'destroy') ended.delete(event.id);
        yield event;
      }
    },
    async *followLogs(id, signal) {
      yield* engine.followLogs(id, signal);
      if (!signal.aborted) ended.add(id);
    },
    remove: forgetting((id) => engine.remove(id)),
    removeUnlessRunning: forgetting((id) => engine.removeUnlessRunning(id)),
  };
}
