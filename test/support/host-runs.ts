import { join } from 'node:path';
import type { Clock } from '../../src/shared/base/clock.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import type { Engine } from '../../src/shared/engine/engine.ts';
import { AgentRoots } from '../../src/manager/host-mode/agent-root.ts';
import { HostEngine } from '../../src/manager/host-mode/host-engine.ts';
import type { RunCommand } from '../../src/manager/machine/command.ts';

/** Runs straight on the host, kept below `directory`; the agents in `agents` there. */
export function hostRuns(
  directory: string,
  command: RunCommand,
  docker: Pick<Engine, 'withLabel' | 'remove' | 'removeNetwork'>,
  clock: Clock,
  jobsUseDocker = false,
): HostEngine {
  const roots = new AgentRoots(join(directory, 'agents'), {
    command,
    docker,
    log: silentLogger,
    jobsUseDocker,
  });
  return new HostEngine(join(directory, 'host'), roots, command, clock);
}

/** A Docker without containers of agents. */
export const cleanDocker = {
  withLabel: () => Promise.resolve({ containers: [], networks: [] }),
  remove: () => Promise.resolve('removed' as const),
  removeNetwork: () => Promise.resolve(),
};
