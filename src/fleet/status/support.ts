import { type Reading, valueOf } from '../../shared/base/reading.ts';
import { type Part, type Support, supportOf } from '../../shared/base/support-dates.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { dockerVersion, loadedDriver, reading, statusOf, toolkitVersion } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { generationOf } from '../steps/driver/generations.ts';

/** Returns how long the vendors support what runs on a host; parts that are not there or not read are left out. Pure. */
export function supportOnHost(facts: GatheredFacts, now: number): readonly Support[] {
  return supportOfAll(facts, now, {
    driver: valueOf(loadedDriver(facts)),
    docker: valueOf(dockerVersion(facts)),
    toolkit: valueOf(toolkitVersion(facts)),
    agent: valueOf(agentOnHost(facts)),
  });
}

/** Returns the oldest agent of the images that this program built; absent: there is no image yet, or no manager has reported. Pure. */
export function agentOnHost(facts: GatheredFacts): Reading<string> {
  const status = statusOf(facts);
  if (status.kind === 'unknown') return { kind: 'unknown', why: status.why };
  const references = (status.value?.images ?? []).flatMap(({ reference }) => reference ?? []);
  const [oldest] = references
    .flatMap((reference) => /^azp-fleet\/agent:(\d+(?:\.\d+)*)-/.exec(reference)?.[1] ?? [])
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  if (oldest !== undefined) return { kind: 'value', value: oldest };
  const [other] = references;
  return other === undefined
    ? { kind: 'absent' }
    : { kind: 'unknown', why: `the name of its image has no version: ${other}` };
}

/** Returns the same of a host after `provision`: of the versions that the inventory sets, or its defaults. Pure. */
export function supportAsPlanned(
  { driver, docker, toolkit, agent, image }: HostSpec,
  facts: GatheredFacts,
  now: number,
): readonly Support[] {
  const seen = valueOf(loadedDriver(facts));
  return supportOfAll(facts, now, {
    driver: driver.install ? (driver.version ?? driver.branch) : seen,
    docker: docker.left === true ? valueOf(dockerVersion(facts)) : docker.version,
    toolkit: toolkit.left === true ? valueOf(toolkitVersion(facts)) : toolkit.version,
    // An image of a registry brings its own agent.
    agent: image === undefined ? agent.version : undefined,
  });
}

function supportOfAll(
  facts: GatheredFacts,
  now: number,
  versions: Readonly<Partial<Record<Part, string | undefined>>>,
): readonly Support[] {
  const all = { ...versions, distribution: `${facts.os.id} ${facts.os.versionId}` };
  return Object.entries(all).flatMap(([part, version]) => {
    // `20.10.24+dfsg1`, `29.7.2-1`.
    const number = part === 'distribution' ? version : /^\d+(?:\.\d+)*/.exec(version ?? '')?.[0];
    return number === undefined ? [] : [withSuccessorFor(facts, supportOf(part as Part, number, now))];
  });
}

/** Leaves out a later driver branch that does not run all GPUs, or if the GPUs are unknown. */
function withSuccessorFor(facts: GatheredFacts, { successor, ...support }: Support): Support {
  const gpus = valueOf(reading(facts, 'gpus'))?.gpus;
  const runsAll = gpus?.every(
    ({ deviceId }) => Number(successor) <= (generationOf(deviceId).lastBranch ?? Number.POSITIVE_INFINITY),
  );
  return successor === undefined || (support.part === 'driver' && runsAll !== true)
    ? support
    : { ...support, successor };
}

const names: Readonly<Record<Part, string>> = {
  driver: 'driver branch',
  cuda: 'CUDA',
  docker: 'Docker',
  toolkit: 'nvidia-container-toolkit',
  agent: 'agent',
  distribution: '',
};

/** Returns the warning about a version whose support has ended, or ends soon; undefined: neither, or not known. Pure. */
export function supportWarning({
  part,
  version,
  state,
  ends,
  successor,
}: Support): Pick<Finding, 'code' | 'what' | 'next'> | undefined {
  if (state !== 'ended' && state !== 'ending') return undefined;
  const named = (line: string): string => `${names[part]} ${line}`.trim();
  const at = ends === undefined ? '' : ends.length === 7 ? ` in ${ends}` : ` on ${ends}`;
  return {
    code: state === 'ended' ? 'support.ended' : 'support.ending',
    what: `${named(version)}: vendor support ${state === 'ended' ? 'ended' : 'ends'}${at}`,
    next: successor === undefined ? withoutSuccessor(part) : `change to ${named(successor)}`,
  };
}

function withoutSuccessor(part: Part): string {
  return part === 'driver'
    ? 'change to a supported branch that runs all its GPUs, if there is one'
    : 'change to a supported release';
}
