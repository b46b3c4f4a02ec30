import type { Facts } from '../../facts/facts.ts';
import { type Action, type Change, change } from '../change.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { nextToken, quiet } from './files.ts';
import { activateScript, type ManagerVersion } from './version.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { imageOverall, type StartedWith } from '../../../shared/contract/status.ts';

/** Seconds. The first start builds or pulls the agent image: a CUDA base and the agent over a slow line. */
const readyTimeoutS = 3600;

/** Restarts the manager where its files changed or it runs with earlier ones, and waits for its images. */
export function* start(
  facts: Facts,
  version: ManagerVersion,
  desired: DesiredStart,
  found: readonly Change[],
): Iterable<Change> {
  const why = found.length > 0 ? 'its files have changed' : staleness(facts, desired);
  const ready = { kind: 'await-manager', configHash: desired.configHash, timeoutS: readyTimeoutS } as const;
  if (why === undefined) {
    yield* images(facts, ready);
    return;
  }
  // systemd reads a new unit by itself; of a known unit it keeps the earlier text and state.
  const known = facts.files[HostPaths.unit] !== undefined;
  const reload =
    facts.manager.reloadNeeded ||
    (known && (!facts.manager.unitEnabled || found.some(({ id }) => id.startsWith('manager-unit'))));
  const script = activateScript({
    version,
    reload: reload || facts.systemd === undefined || facts.systemd < 247,
    token: found.some(({ id }) => id.startsWith('manager-credential')) ? nextToken : undefined,
  });
  const running = facts.manager.unitActive === 'active';
  const title = running
    ? 'restart the manager (jobs keep running) and wait for it'
    : 'start the manager and wait for it';
  const disturbs = reload ? reloadDisturbs(facts) : 'nothing';
  const writes = [HostPaths.opt, HostPaths.etc];
  // systemd stops a version that hangs after a minute (before 246: two); the previous version may take another.
  const run: Action = { kind: 'run', durable: true, timeoutS: 300, script, writes };
  const marker = running ? 'change' : 'add';
  yield change('manager', 'start', { title, why, disturbs, marker }, [run, ready]);
}

function* images({ manager: { status } }: Facts, ready: Action): Iterable<Change> {
  const state = status && imageOverall(status).state;
  if (state === 'ready') return;
  const why = state === undefined ? 'the manager has not reported yet' : `image state is ${state}`;
  yield quiet('ready', { title: 'wait for the agent image', why, marker: 'change' }, [ready]);
}

/** What the running manager must have been started with. */
interface DesiredStart extends StartedWith {
  readonly configHash: string;
}

/** Returns why a manager with up-to-date files must restart: it is not running, or runs with earlier files. */
function staleness(facts: Facts, desired: DesiredStart): string | undefined {
  const { status, unitActive, unitEnabled, reloadNeeded } = facts.manager;
  if (unitActive !== 'active') return `the manager is ${unitActive ?? 'not running'}`;
  if (!unitEnabled) return 'the manager is not enabled at boot';
  if (reloadNeeded) return 'systemd has not reloaded its changed unit';
  if (status === undefined) return undefined;
  if (status.configHash !== desired.configHash) return 'the manager runs with an earlier configuration';
  const earlier = earlierPart(status.started, desired);
  if (earlier !== undefined) return `the manager was started with an earlier ${earlier}`;
  const { state, cause = 'unknown cause' } = imageOverall(status);
  return state === 'failed' ? `no agent image: ${cause}` : undefined;
}

function earlierPart(started: StartedWith, desired: StartedWith): string | undefined {
  if (started.program !== desired.program) return 'version';
  if (started.unit !== desired.unit) return 'unit';
  return started.ca === desired.ca ? undefined : 'certificate authority';
}
