import type { Facts } from '../../facts/facts.ts';
import { type Action, type Change, change } from '../change.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { nextToken, quiet } from './files.ts';
import { activateScript, type ManagerVersion } from './version.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { imageOverall, type StartedWith } from '../../../shared/contract/status.ts';

/** Seconds. The first start builds or pulls the agent image: a CUDA base and the agent over a slow line. */
const readyTimeoutS = 3600;

/** That the manager runs with all that was found to be new, and has its images. */
export function* start(
  facts: Facts,
  version: ManagerVersion,
  wanted: WantedStart,
  found: readonly Change[],
): Iterable<Change> {
  const why = found.length > 0 ? 'its files have changed' : staleness(facts, wanted);
  const ready = { kind: 'await-manager', configHash: wanted.configHash, timeoutS: readyTimeoutS } as const;
  if (why === undefined) {
    yield* images(facts, ready);
    return;
  }
  // systemd reads a unit that it has not seen before by itself; of a known one it keeps the text and the state.
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
  // A version that hangs is given up after a minute, before systemd 246 after two, and the one before may take another.
  const run: Action = { kind: 'run', durable: true, timeoutS: 300, script, writes };
  const marker = running ? 'change' : 'add';
  yield change('manager', 'start', { title, why, disturbs, marker }, [run, ready]);
}

function* images({ manager: { status } }: Facts, ready: Action): Iterable<Change> {
  const state = status && imageOverall(status).state;
  if (state === 'ready') return;
  const why = state === undefined ? 'the manager has not reported yet' : `its state is ${state}`;
  yield quiet('ready', { title: 'wait for the agent image', why, marker: 'change' }, [ready]);
}

/** What the running manager has to have been started with. */
interface WantedStart extends StartedWith {
  readonly configHash: string;
}

/** Why a manager whose files are all right has to be restarted all the same: what runs is not what lies there. */
function staleness(facts: Facts, wanted: WantedStart): string | undefined {
  const { status, unitActive, unitEnabled, reloadNeeded } = facts.manager;
  if (unitActive !== 'active') return `it is ${unitActive ?? 'not running'}`;
  if (!unitEnabled) return 'it would not start after a reboot';
  if (reloadNeeded) return 'systemd has not read its unit since that was changed';
  if (status === undefined) return undefined;
  if (status.configHash !== wanted.configHash) return 'it runs with an earlier configuration';
  const earlier = earlierPart(status.started, wanted);
  if (earlier !== undefined) return `it was started with an earlier ${earlier}`;
  const { state, cause = 'unknown cause' } = imageOverall(status);
  return state === 'failed' ? `no agent image: ${cause}` : undefined;
}

function earlierPart(started: StartedWith, wanted: StartedWith): string | undefined {
  if (started.program !== wanted.program) return 'version';
  if (started.unit !== wanted.unit) return 'unit';
  return started.ca === wanted.ca ? undefined : 'certificate authority';
}
