import { foreignCode } from '../../shared/base/codes/code.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { type Release, releaseGap } from '../../shared/contract/release.ts';
import { imageOverall, type ImageStatus, type ManagerStatus } from '../../shared/contract/status.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { reading, releaseSeen, statusOf } from '../facts/unread.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import { isOfKernelLog } from '../../shared/health/kernel-events.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { Waiting } from './agents.ts';
import { kindOf } from './causes.ts';
import { ageText, isTooOld } from './sources.ts';

/** Tells whether the manager's report is missing or too old. Pure. */
export function isSilent(status: ManagerStatus | undefined, now: number): boolean {
  return status === undefined || isTooOld({ source: 'report', ageMs: now - Date.parse(status.at) });
}

/** Returns the manager's findings about itself and the GPUs; a fresh probe replaces its GPU check. Pure. */
export function managerFindings(
  facts: GatheredFacts,
  probe: Checkup | undefined,
  now: number,
): readonly Finding[] {
  const [status, release] = [valueOf(statusOf(facts)), valueOf(releaseSeen(facts))];
  const otherRelease = release === undefined ? [] : releaseFindings(release, status);
  // It may have reported in a form that this release does not read.
  if (status === undefined && otherRelease.length > 0) return [...otherRelease, ...(probe?.findings ?? [])];
  if (status === undefined || isSilent(status, now))
    return [silent(status, now), ...otherRelease, ...(probe?.findings ?? [])];
  const health = status.health.findings.map((each) => ({ ...each, code: foreignCode(each.code) }));
  return [
    ...otherRelease,
    ...(isBehind(status, facts) ? [behind] : []),
    ...status.problems.map(({ code, what, next, since }) =>
      finding(foreignCode(code), what, { severity: 'fail', next, ...defined({ since }) }),
    ),
    ...(status.slots.length === 0 ? [noSlots] : []),
    ...status.images.flatMap((image, _, all) => imageFindings(image, all.length > 1)),
    ...(probe === undefined ? health : [...probe.findings, ...health.filter(isBesideProbe)]),
  ];
}

/** True for a finding about something that a probe container does not check. */
function isBesideProbe(finding: Pick<Finding, 'code'>): boolean {
  return isOfKernelLog(finding) || /^(?:gpu[.]nvlink|host[.]nfs)-/.test(finding.code);
}

/** Returns those of its problems, and of its sources that are too old, that may end without a fix. Pure. */
export function managerWaits(facts: GatheredFacts, oldFindings: readonly Finding[]): readonly Waiting[] {
  const status = valueOf(statusOf(facts));
  if (status === undefined) return [{ who, why: 'has not reported yet', reported: true }];
  const image = imageOverall(status);
  const reasons = [
    ...oldFindings.map(({ what }) => what),
    ...(isBehind(status, facts) ? [behind.what] : []),
    // Before its first GPU check a manager may not know how many slots it has.
    ...(status.slots.length === 0 ? [noSlots.what] : []),
    ...status.problems.filter(({ code }) => kindOf(code) !== 'permanent').map(({ what }) => what),
    ...(image.state === 'ready' || image.state === 'failed'
      ? []
      : imageFindings(image, false).map(({ what }) => what)),
  ];
  return reasons.map((why) => ({ who, why, reported: true }));
}

/** Reports a manager of another release: its agents may work, but its report may be read wrongly. */
function releaseFindings(release: Release, status: ManagerStatus | undefined): readonly Finding[] {
  const gap = releaseGap(undefined, release);
  if (gap === undefined) return [];
  const { what, next } = gap;
  return [finding('manager.release', what, { severity: status === undefined ? 'fail' : 'warn', next })];
}

const who = 'the manager';

/** Tells whether its configuration file changed after its start. Facts of other releases may lack the file. */
function isBehind({ configHash }: ManagerStatus, facts: GatheredFacts): boolean {
  const written = valueOf(reading(facts, 'files'))?.files[HostPaths.config];
  return written !== undefined && written !== configHash;
}

const behind = finding(
  'manager.older-config',
  'the manager runs with the configuration before the last change',
);

const noSlots = finding('agents.none', 'the manager has no slots, so no agent of this host takes jobs');

function silent(status: ManagerStatus | undefined, now: number): Finding {
  const ageMs = status === undefined ? undefined : now - Date.parse(status.at);
  const what =
    ageMs === undefined
      ? 'the manager has not reported yet'
      : Number.isNaN(ageMs)
        ? 'the manager’s last report has no valid time'
        : `the manager’s last report is ${ageText(Math.abs(ageMs) / 1000)} ${ageMs < 0 ? 'in the future' : 'old'}`;
  return finding('manager.silent', what);
}

/** `named`: the host has several images, so findings name theirs. */
function imageFindings(image: ImageStatus, named: boolean): readonly Finding[] {
  const { state, cause, progress, reference, digest } = image;
  if (state === 'ready') return [];
  const which = named && reference !== undefined ? `the agent image ${reference}` : 'the agent image';
  if (state === 'failed') {
    const next = 'check `azp-fleet image which HOST` and `journalctl -u azp-fleet-manager` on the host';
    const rest = digest === undefined ? '' : '; agents continue with the previous one';
    return [finding('image.failed', `${which} failed: ${cause ?? 'no reason given'}${rest}`, { next })];
  }
  const doing = { missing: 'is missing', pulling: 'is being pulled', building: 'is being built' }[state];
  const what = `${which} ${doing}${progress === undefined ? '' : ` (${progress})`}`;
  return [finding('image.not-ready', what)];
}
