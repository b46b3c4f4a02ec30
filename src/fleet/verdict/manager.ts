import { type Code, foreignCode } from '../../shared/base/codes/code.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { type Release, releaseGap } from '../../shared/contract/release.ts';
import { imageOverall, type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import type { Facts } from '../facts/facts.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { Waiting } from './agents.ts';
import { kindOf, staleMs } from './causes.ts';

/** The manager has told nothing, or too long ago. Pure. */
export function isSilent(status: ManagerStatus | undefined, now: number): boolean {
  return status === undefined || !(now - Date.parse(status.at) <= staleMs);
}

/** What the manager says of itself and of the GPUs; a fresh probe replaces its look at the GPUs. Pure. */
export function managerFindings(
  { files, manager: { status, release } }: Facts,
  probe: Checkup | undefined,
  now: number,
): readonly Finding[] {
  const apart = release === undefined ? [] : apartFindings(release, status);
  // What it says may be there and mean nothing to us.
  if (status === undefined && apart.length > 0) return [...apart, ...(probe?.findings ?? [])];
  if (status === undefined || isSilent(status, now))
    return [silent(status, now), ...apart, ...(probe?.findings ?? [])];
  const health = status.health.findings.map((each) => ({ ...each, code: foreignCode(each.code) }));
  return [
    ...apart,
    ...(isBehind(status, files) ? [behind] : []),
    ...status.problems.map(({ code, what, next }) => fail(foreignCode(code), what, next)),
    ...(status.slots.length === 0 ? [noSlots] : []),
    ...status.images.flatMap((image, _, all) => imageFindings(image, all.length > 1)),
    ...(probe === undefined
      ? health
      : [...probe.findings, ...health.filter(({ code }) => code.startsWith('xid.'))]),
  ];
}

/** What of that waiting may end. Pure. */
export function managerWaits({ files, manager: { status } }: Facts): readonly Waiting[] {
  if (status === undefined) return [{ who, why: 'has not reported yet', told: true }];
  const image = imageOverall(status);
  const reasons = [
    ...(isBehind(status, files) ? [behind.what] : []),
    // Before its first look at the GPUs a manager may not know how many slots it has.
    ...(status.slots.length === 0 ? [noSlots.what] : []),
    ...status.problems.filter(({ code }) => kindOf(code) !== 'certain').map(({ what }) => what),
    ...(image.state === 'ready' || image.state === 'failed'
      ? []
      : imageFindings(image, false).map(({ what }) => what)),
  ];
  return reasons.map((why) => ({ who, why, told: true }));
}

/** Its agents may work well; what is judged by its words may be judged wrongly. */
function apartFindings(release: Release, status: ManagerStatus | undefined): readonly Finding[] {
  const gap = releaseGap(undefined, release);
  if (gap === undefined) return [];
  const { what, next } = gap;
  return [{ code: 'manager.release', severity: status === undefined ? 'fail' : 'warn', what, next }];
}

const who = 'the manager';

/** The file that it was started with is no longer the one that is there. Another's facts may not know the file. */
function isBehind({ configHash }: ManagerStatus, files: Facts['files']): boolean {
  const written = files[HostPaths.config];
  return written !== undefined && written !== configHash;
}

const behind = fail(
  'manager.older-config',
  'the manager runs with the configuration before the last change',
  'run `azp-fleet provision`, which restarts it; jobs keep running',
);

const noSlots = fail(
  'agents.none',
  'the manager has no slots, so no agent of this host takes jobs',
  'check its GPUs with `azp-fleet status --probe`, or list `agents:` in the inventory',
);

function silent(status: ManagerStatus | undefined, now: number): Finding {
  const age = status === undefined ? undefined : Math.round((now - Date.parse(status.at)) / 60_000);
  const what =
    age === undefined ? 'the manager has not reported yet' : `the manager’s last report is ${age} min old`;
  return fail(
    'manager.silent',
    what,
    'check `systemctl status azp-fleet-manager` on the host, or look now with --probe',
  );
}

/** `named`: there are others. */
function imageFindings(image: ImageStatus, named: boolean): readonly Finding[] {
  const { state, cause, progress, reference } = image;
  if (state === 'ready') return [];
  const which = named && reference !== undefined ? `the agent image ${reference}` : 'the agent image';
  if (state === 'failed') {
    const next = 'check `azp-fleet image which HOST` and `journalctl -u azp-fleet-manager` on the host';
    return [fail('image.failed', `${which} could not be made: ${cause ?? 'no reason given'}`, next)];
  }
  const doing = { missing: 'is not there yet', pulling: 'is being pulled', building: 'is being built' }[
    state
  ];
  const what = `${which} ${doing}${progress === undefined ? '' : ` (${progress})`}`;
  return [{ code: 'image.not-ready', severity: 'warn', what, next: 'wait for it' }];
}

function fail(code: Code, what: string, next: string): Finding {
  return { code, severity: 'fail', what, next };
}
