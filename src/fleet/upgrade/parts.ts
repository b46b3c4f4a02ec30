import type { Answered, Reading } from '../../shared/base/reading.ts';
import type { Support } from '../../shared/base/support-dates.ts';
import { version as ownVersion } from '../../shared/base/version.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { dockerVersion, loadedDriver, releaseSeen, toolkitVersion } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { defaultVersions } from '../inventory/schema/defaults.ts';
import { agentOnHost, supportOnHost } from '../status/support.ts';

/** What `upgrade` changes, in the order of the steps of a host. */
export const partNames = ['driver', 'docker', 'toolkit', 'agent', 'manager'] as const;
export type PartName = (typeof partNames)[number];

/** The parts whose version the inventory sets. */
export type SetPart = Exclude<PartName, 'manager'>;

export function isSetPart(part: PartName): part is SetPart {
  return part !== 'manager';
}

/** Parts whose earlier version does not come back by itself. */
const oneWay: readonly PartName[] = ['driver', 'docker', 'toolkit'];

export function hasNoWayBack(parts: readonly PartName[]): boolean {
  return parts.some((part) => oneWay.includes(part));
}

/** What the inventory says about a part of a host. */
export interface Configured {
  /** A version, or a branch of the driver; undefined: the inventory leaves the part alone, or the part is in an image. */
  readonly version?: string;
  /** The inventory sets none: an installed newer one is accepted. */
  readonly orNewer?: true;
  /** Why azp-fleet does not change it: `driver: none`. */
  readonly left?: string;
}

/** One part of a host. */
export interface PartRow {
  readonly part: PartName;
  readonly installed: Reading<string>;
  readonly configured: Configured;
  /** The newest first. Absent: nothing offers it. */
  readonly offered: Answered<readonly string[]>;
  /** Of the installed version; undefined: none is installed, or the table of releases does not have the part. */
  readonly support?: Support;
}

/** Returns what the inventory says about a part. Pure. */
export function configuredOf(part: PartName, host: HostSpec): Configured {
  if (part === 'manager') return { version: ownVersion };
  if (part === 'agent')
    return host.image === undefined ? { version: host.agent.version } : { left: `image: ${host.image}` };
  if (part === 'driver') {
    const { install, branch, version, orNewer } = host.driver;
    return install ? { version: version ?? branch, ...newer(orNewer) } : { left: 'driver: none' };
  }
  const { version, orNewer, left } = host[part];
  return left === true ? { left: `${part}: none` } : { version, ...newer(orNewer) };
}

function newer(orNewer: true | undefined): Pick<Configured, 'orNewer'> {
  return orNewer === true ? { orNewer } : {};
}

/** Returns what is installed of a part. Pure. */
export function installedOf(part: PartName, facts: GatheredFacts): Reading<string> {
  if (part === 'agent') return agentOnHost(facts);
  if (part === 'manager') {
    const seen = releaseSeen(facts);
    return present(seen.kind === 'value' ? { kind: 'value', value: seen.value?.version } : seen);
  }
  const readings = { driver: loadedDriver, docker: dockerVersion, toolkit: toolkitVersion };
  return present(readings[part](facts));
}

function present(seen: Answered<string | undefined>): Reading<string> {
  if (seen.kind === 'unknown') return { kind: 'unknown', why: seen.why };
  return seen.value === undefined ? { kind: 'absent' } : { kind: 'value', value: seen.value };
}

/** Returns the row of each part of a host. `offered`: by part; a part without an entry was not asked for. Pure. */
export function partRows(
  parts: readonly PartName[],
  host: HostSpec,
  { facts, offered, now }: { facts: GatheredFacts; offered: Offers; now: number },
): readonly PartRow[] {
  const supports = supportOnHost(facts, now);
  return parts.map((part) => {
    const support = supports.find((each) => each.part === part);
    return {
      part,
      installed: installedOf(part, facts),
      configured: configuredOf(part, host),
      offered: offered[part] ?? { kind: 'unknown', why: 'not asked for' },
      ...(support === undefined ? {} : { support }),
    };
  });
}

/** What is offered, by part. */
export type Offers = Readonly<Partial<Record<PartName, Answered<readonly string[]>>>>;

/** Returns the version that this release of azp-fleet installs where the inventory sets none. Pure. */
export function defaultOf(part: PartName): string {
  return part === 'manager' ? ownVersion : defaultVersions[part === 'driver' ? 'driverBranch' : part];
}
