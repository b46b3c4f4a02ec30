import { type Code, foreignCode } from '../../shared/base/codes/code.ts';
import { valueOf } from '../../shared/base/reading.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { statusOf } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { FleetChange } from '../plan/pools.ts';
import type { Observation } from '../status/row.ts';
import { kindOf } from '../verdict/causes.ts';
import type { AgentsIn } from '../verdict/host-view.ts';
import { stackFindings } from '../verdict/host.ts';
import { judge } from '../verdict/judge.ts';
import { isSilent } from '../verdict/manager.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';

/** The rungs of a host. */
export type HostRung =
  | 'settings'
  | 'dns'
  | 'port'
  | 'host-key'
  | 'login'
  | 'sudo'
  | 'facts'
  | 'os'
  | 'clock'
  | 'disk'
  | 'driver'
  | 'docker'
  | 'toolkit'
  | 'probe'
  | 'manager'
  | 'azure'
  | 'host-token'
  | 'pool'
  | 'queue'
  | 'permission'
  | 'image'
  | 'dataset'
  | 'agents';

/** What `provision` would change for a pool. */
export interface PoolSeen {
  readonly name: string;
  readonly changes: readonly FleetChange[];
  /** Why the pool could not be read. */
  readonly problem?: Problem;
  /** Why its projects could not be read. */
  readonly projectProblem?: Problem;
}

/** What the rungs of a host are checked with. */
export interface HostSeen {
  readonly host: HostSpec;
  readonly observation: Observation;
  /** The manager's report, if it is fresh. */
  readonly status?: ManagerStatus;
  readonly findings: ReadonlyMap<HostRung, readonly Finding[]>;
  /** Of its agents. Undefined: Azure DevOps was not asked. */
  readonly pools?: readonly PoolSeen[];
  readonly agentsIn: AgentsIn;
  /** Of the inventory: projects whose pipelines may use the pools. */
  readonly projects: readonly string[];
  /** The user wants no probe. */
  readonly isProbeOff: boolean;
  /** The host's wall clock, milliseconds. */
  readonly now: number;
}

interface Around extends Pick<HostSeen, 'projects' | 'isProbeOff' | 'agentsIn'> {
  readonly pools?: readonly PoolSeen[] | undefined;
  /** This machine's wall clock. */
  readonly now: number;
}

/** Sorts what was read of a host by its rungs. Pure. */
export function hostSeen(observation: Observation, { now: localNow, pools, ...around }: Around): HostSeen {
  const { host, facts } = observation;
  const now = facts?.time ?? localNow;
  const report = facts && valueOf(statusOf(facts));
  const status = isSilent(report, now) ? undefined : report;
  const findings = Map.groupBy(findingsOf(observation, around.agentsIn, now, status), ({ rung }) => rung);
  return {
    host,
    observation,
    ...around,
    ...defined({ status, pools }),
    now,
    findings: new Map([...findings].map(([rung, all]) => [rung, all.map(({ finding }) => finding)])),
  };
}

interface Placed {
  readonly rung: HostRung;
  readonly finding: Finding;
}

/** Returns the findings of the verdict, each with its rung; a host without manager also has those of its software. */
function findingsOf(
  observation: Observation,
  agentsIn: AgentsIn,
  now: number,
  status: ManagerStatus | undefined,
): readonly Placed[] {
  const { host, facts, probe, readAt } = observation;
  if (facts === undefined) return [];
  const view = { host: host.name, facts, agentsIn, now };
  const { findings } = judge({ ...view, ...defined({ probe, factsReadAt: readAt }) });
  const probed = new Set(probe?.findings);
  const placed = [...stackFindings(facts), ...findings].map((finding): Placed => ({
    finding,
    rung: probed.has(finding) ? rungOfProbe(finding.code) : rungOf(finding.code),
  }));
  const causes = (status?.slots ?? []).flatMap(({ agent, code, cause, next }): readonly Placed[] => {
    // A cause that ends by itself is judged by the agent's state.
    if (code === undefined || cause === undefined || kindOf(code) !== 'permanent') return [];
    const finding: Finding = {
      code: foreignCode(code),
      agents: [agent],
      severity: 'fail',
      what: cause,
      next: next ?? 'check `journalctl -u azp-fleet-manager` on the host',
    };
    return rungOf(finding.code) === 'agents' ? [] : [{ rung: rungOf(finding.code), finding }];
  });
  return distinct([...placed, ...causes]);
}

/** Returns each statement about a rung once: several slots have one cause, and two sources one problem. */
function distinct(placed: readonly Placed[]): readonly Placed[] {
  const key = ({ rung, finding: { code, what } }: Placed) => JSON.stringify([rung, code, what]);
  return [...new Map(placed.toReversed().map((each) => [key(each), each])).values()].toReversed();
}

/** The rung of each code; the first pattern that fits counts. */
const places: readonly (readonly [RegExp, HostRung])[] = [
  [/^facts\./, 'facts'],
  [/^host\.clock-off$|^agent\.clock-skew$/, 'clock'],
  [/^disk\.|^host\.read-only$|^engine\.disk-full$/, 'disk'],
  [/^driver\.|^host\.sources-disagree$|^engine\.driver-not-loaded$/, 'driver'],
  [/^toolkit\.|^engine\.(?:cdi-stale|no-gpu-driver)$/, 'toolkit'],
  [/^(?:image|registry)\.|^engine\.(?:build-failed|cuda-too-new|no-image)$/, 'image'],
  [/^docker\.|^engine\./, 'docker'],
  [/^dataset\./, 'dataset'],
  [/^gpu\.(?:in-use|left-behind|memory-held|tenants-unknown|lost-in-container)$/, 'agents'],
  [/^(?:gpu|xid|smi|nvswitch|cuda|container|health|probe)\.|^host\.(?:memory-|no-kernel-log)/, 'probe'],
  [/^azure\.(?:auth|permission|deactivated)$/, 'host-token'],
  [/^azure\.|^manager\.old-view$/, 'azure'],
  [/^pool\./, 'pool'],
  [/^(?:agent|agents|run|runs|queue|slot)\.|^drained$/, 'agents'],
];

/** Returns the rung of a finding. One of a newer manager with a code that is not known here is the manager's. Pure. */
export function rungOf(code: Code): HostRung {
  return places.find(([pattern]) => pattern.test(code))?.[1] ?? 'manager';
}

/** Returns the rung of a finding of the probe: of the driver if it explains what the container shows. */
function rungOfProbe(code: Code): HostRung {
  const rung = rungOf(code);
  return rung === 'driver' || rung === 'toolkit' || rung === 'disk' ? rung : 'probe';
}
