import { foreignCode } from '../../shared/base/codes/code.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { sh } from '../../shared/base/shell.ts';
import { HostPaths, managerUnit } from '../../shared/contract/paths.ts';
import { imageOverall, type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import { imageFailure, imageLine } from '../client/image-build.ts';
import { createManagerClient, type ManagerClient } from '../client/manager-client.ts';
import type { Session } from '../ssh/transport.ts';
import type { ApplyTools } from './apply-tools.ts';

const pollMs = 1000;
/** A problem that lasts this long does not end by waiting. The manager starts within a few seconds. */
const patienceMs = 20_000;
/** Milliseconds until a failure of an image from before the wait counts: the manager looks for it again every 20 s. */
export const failedBeforeMs = 30_000;
const journal = sh`systemctl is-active ${managerUnit}; journalctl -u ${managerUnit} -n 5 --no-pager -o cat`;

/** Waits until the manager runs with the desired configuration and has its agent images. */
export async function awaitManager(
  connect: () => Promise<Session>,
  desired: { readonly host: string; readonly configHash: string; readonly timeoutS: number },
  onLine: (line: string) => void,
  tools: Pick<ApplyTools, 'clock' | 'sleep'>,
): Promise<void> {
  const { host, configHash, timeoutS } = desired;
  const start = tools.clock.monotonic();
  let lastOk = start;
  let hadFailed = true;
  for (let shown = ''; ;) {
    const seen = await readStatus(await connect());
    const text = typeof seen === 'string' ? `manager: ${seen}` : imageLine(imageOverall(seen));
    if (text !== shown) onLine(text);
    shown = text;
    hadFailed &&= typeof seen !== 'string' && imageOverall(seen).state === 'failed';
    if (typeof seen !== 'string') {
      const current = seen.configHash === configHash;
      const image = imageOverall(seen);
      if (current && image.state === 'ready') return;
      const waitedMs = tools.clock.monotonic() - start;
      if (current && image.state === 'failed' && (!hadFailed || waitedMs >= failedBeforeMs))
        throw noImage(host, image);
      if (seen.problems.length === 0) lastOk = tools.clock.monotonic();
      else if (tools.clock.monotonic() - lastOk > patienceMs) throw hasProblem(host, seen);
    } else if (tools.clock.monotonic() - lastOk > patienceMs)
      throw await notRunning(host, await connect(), seen);
    if (tools.clock.monotonic() - start > timeoutS * 1000) throw late(host, timeoutS, shown);
    await tools.sleep(pollMs);
  }
}

/** After a start, the manager chooses its images once it has checked the GPUs. */
const choiceMs = 30_000;

/** Returns the manager's status; waits until it has looked for its images. */
export async function statusWithImages(
  manager: Pick<ManagerClient, 'status'>,
  { clock, sleep }: Pick<ApplyTools, 'clock' | 'sleep'>,
): Promise<ManagerStatus> {
  for (const since = clock.monotonic(); ; await sleep(pollMs)) {
    const status = await manager.status();
    const isKnown = [status.image, ...status.images].every(hasLooked);
    if (isKnown || clock.monotonic() - since >= choiceMs) return status;
  }
}

/**
 * Waits after a reboot until the manager reports its images: a plan made before would load those again that only it knows. Ends after
 * a minute in any case; the facts then show what is wrong.
 */
export async function awaitReport(
  manager: Pick<ManagerClient, 'status'>,
  tools: Pick<ApplyTools, 'clock' | 'sleep'>,
): Promise<void> {
  for (const since = tools.clock.monotonic(); ; await tools.sleep(pollMs)) {
    try {
      await statusWithImages(manager, tools);
      return;
    } catch (error) {
      if (!(error instanceof FleetError) || !error.problem.code.startsWith('manager.')) throw error;
      if (tools.clock.monotonic() - since >= 2 * choiceMs) return;
    }
  }
}

const hasLooked = ({ state }: ImageStatus): boolean => state !== 'missing';

/** Returns the manager's report, or why there is none. */
async function readStatus(session: Session): Promise<ManagerStatus | string> {
  try {
    return await createManagerClient(session.socketAgent(HostPaths.socket), session.host, {
      attempts: 1,
    }).status();
  } catch (error) {
    if (error instanceof FleetError && error.problem.code.startsWith('manager.'))
      return error.problem.seen ?? error.problem.what;
    throw error;
  }
}

function noImage(host: string, image: ImageStatus): FleetError {
  return new FleetError({
    code: 'image.failed',
    host,
    step: 'image',
    what: 'the agent image could not be built or pulled',
    seen: imageFailure(image),
    next: `fix the cause and run again${image.digest === undefined ? '' : '; agents continue with the existing image'}`,
  });
}

function hasProblem(host: string, { problems }: ManagerStatus): FleetError {
  const [first] = problems;
  return new FleetError({
    code: first === undefined ? 'manager.problem' : foreignCode(first.code),
    host,
    step: 'manager',
    what: first?.what ?? 'the manager reports a problem',
    ...(first === undefined ? {} : { next: first.next }),
  });
}

async function notRunning(host: string, session: Session, seen: string): Promise<FleetError> {
  const { stdout } = await session.script(journal, { totalTimeoutMs: 15_000 });
  return new FleetError({
    code: 'manager.not-running',
    host,
    step: 'manager',
    what: 'the manager does not answer on its socket',
    seen: [seen, ...stdout.trim().split('\n')].join('\n'),
    next: 'check `journalctl -u azp-fleet-manager` on the host',
  });
}

function late(host: string, timeoutS: number, seen: string): FleetError {
  return new FleetError({
    code: 'manager.not-ready',
    host,
    step: 'manager',
    what: `the manager was not ready within ${timeoutS} s`,
    seen,
    next: 'run again later: it continues by itself; or check `journalctl -u azp-fleet-manager` on the host',
  });
}
