import type { Engine, OwnContainer } from '../../engine/engine.ts';
import { isEngineFault } from '../../engine/fault.ts';

/**
 * The engine with a list that can be believed. When the disk was full as a container ended, dockerd's list tells of it
 * as running for ever (seen with 20.10), while a look at the container itself tells the truth. Its output ends with it
 * in any case: whose output has ended is looked at, and nobody else, so that it costs nothing.
 */
export function withTrueStates(engine: Engine): Engine {
  const silent = new Set<string>();
  const settle = async (container: OwnContainer): Promise<OwnContainer> => {
    if (container.state !== 'running' || !silent.has(container.id)) return container;
    const isRunning = await engine.isRunning(container.id).catch((error: unknown) => {
      if (isEngineFault(error, 'engine.not-found')) return false;
      throw error;
    });
    if (!isRunning) return { ...container, state: 'exited' };
    silent.delete(container.id);
    return container;
  };
  const forgetting = (remove: Engine['remove']) => async (id: string) => {
    await remove(id);
    silent.delete(id);
  };
  return {
    ...engine,
    listOwn: async (filter) => Promise.all((await engine.listOwn(filter)).map(settle)),
    async *followLogs(id, signal) {
      yield* engine.followLogs(id, signal);
      if (!signal.aborted) silent.add(id);
    },
    remove: forgetting((id) => engine.remove(id)),
    removeUnlessRunning: forgetting((id) => engine.removeUnlessRunning(id)),
  };
}
