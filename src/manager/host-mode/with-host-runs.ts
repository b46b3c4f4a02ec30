import type { Engine } from '../../shared/engine/engine.ts';
import { isHostRun, type RunEngine } from './host-engine.ts';

/** The Docker Engine with runs on the host beside its containers: what handles runs need not know which is which. */
export function withHostRuns(docker: Engine, host: RunEngine): Engine {
  const of = (id: string): RunEngine => (isHostRun(id) ? host : docker);
  return {
    ...docker,
    listOwn: async (filter) => [...(await docker.listOwn(filter)), ...(await host.listOwn(filter))],
    putArchive: (id, path, archive) => of(id).putArchive(id, path, archive),
    readTails: (id, path, accepts, limits) => of(id).readTails(id, path, accepts, limits),
    start: (id) => of(id).start(id),
    stop: (id, timeoutS) => of(id).stop(id, timeoutS),
    exit: (id) => of(id).exit(id),
    logs: (id, tail) => of(id).logs(id, tail),
    followLogs: (id, signal) => of(id).followLogs(id, signal),
    remove: (id) => of(id).remove(id),
    removeUnlessRunning: (id) => of(id).removeUnlessRunning(id),
  };
}
