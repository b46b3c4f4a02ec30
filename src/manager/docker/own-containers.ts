import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import { isEngineFault } from '../../shared/engine/fault.ts';

/**
 * Returns the engine for one manager: states of containers are verified, created containers get the manager's owner id, and
 * containers of another manager are hidden. Two managers on one engine leave each other's agents alone.
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

/** True for a container of this manager; one without an owner was created by an earlier version or the CLI. Pure. */
function isOwn({ labels }: OwnContainer, owner: string): boolean {
  const known = labels[Labels.owner];
  return known === undefined || known === owner;
}

/**
 * Returns the engine with verified states in its list. The list of dockerd is 10 to 100 ms behind its events, and stays wrong
 * after a full disk (seen with 20.10), while an inspection is correct. Only containers with an exit event, or whose output
 * ended, are inspected. Neither shows the start of a removal: a container is `removing` once Docker has said so.
 */
function withTrueStates(engine: Engine): Engine {
  const ended = new Set<string>();
  const removing = new Set<string>();
  const settle = async (container: OwnContainer): Promise<OwnContainer> => {
    if (removing.has(container.id)) return { ...container, state: 'removing' };
    if (container.state !== 'running' || !ended.has(container.id)) return container;
    const isRunning = await engine.isRunning(container.id).catch((error: unknown) => {
      if (isEngineFault(error, 'engine.not-found')) return false;
      throw error;
    });
    if (!isRunning) return { ...container, state: 'exited' };
    ended.delete(container.id);
    return container;
  };
  const forget = (id: string): void => {
    ended.delete(id);
    removing.delete(id);
  };
  const noting = (remove: Engine['remove']) => async (id: string) => {
    const end = await remove(id);
    if (end === 'removing') removing.add(id);
    else forget(id);
    return end;
  };
  return {
    ...engine,
    listOwn: async (filter) => Promise.all((await engine.listOwn(filter)).map(settle)),
    async *events(signal) {
      for await (const event of engine.events(signal)) {
        if (event.action === 'die') ended.add(event.id);
        if (event.action === 'destroy') forget(event.id);
        yield event;
      }
    },
    async *followLogs(id, signal) {
      yield* engine.followLogs(id, signal);
      if (!signal.aborted) ended.add(id);
    },
    remove: noting((id) => engine.remove(id)),
    removeUnlessRunning: noting((id) => engine.removeUnlessRunning(id)),
  };
}
