import { HostPaths } from '../../../shared/contract/paths.ts';
import { imageOverall } from '../../../shared/contract/status.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Action, Change } from '../change.ts';
import { change } from '../changes.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { activateScript } from '../manager-scripts.ts';
import type { ManagerVersion } from '../manager-version.ts';
import { nextToken, quiet } from './parts.ts';
import { staleness, type WantedStart } from './stale.ts';

/** Seconds. The first start builds or pulls the agent image: a CUDA base and the agent over a slow line. */
const readyTimeoutS = 3600;

/** That the manager runs with all that was found to be new, and has its images. */
export function* start(
  facts: Facts,
  version: ManagerVersion,
  wanted: WantedStart,
  found: readonly Change[],
): Iterable<Change> {
  const why = found.length > 0 ? 'what it runs with has changed' : staleness(facts, wanted);
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
    ? 'restart the manager (jobs go on) and wait for it'
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
  const why = state === undefined ? 'the manager has said nothing yet' : `its state is ${state}`;
  yield quiet('ready', { title: 'wait for the agent image', why, marker: 'change' }, [ready]);
}
