import type { Facts, GatheredFacts } from '../facts/facts.ts';
import { reading, statusOf, unreadLine, unreadNext } from '../facts/unread.ts';
import { valueOf } from '../../shared/base/reading.ts';
import {
  type Drain,
  drainEnd,
  drainLine,
  drainsOfRuns,
  minuteOf,
  resumeText,
} from '../../shared/contract/drain.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';

const provision = 'run `azp-fleet provision`';

/** Returns what is missing according to the facts alone. */
export function hostFindings(facts: GatheredFacts): readonly Finding[] {
  const manager = valueOf(reading(facts, 'manager'))?.manager;
  if (manager !== undefined && manager.current === undefined) {
    return [finding('host.not-provisioned', 'the host is not provisioned: it has no manager')];
  }
  const findings = [...stackFindings(facts)];
  if (manager !== undefined && manager.unitActive !== 'active' && manager.unitActive !== 'activating') {
    findings.push(finding('manager.down', `the manager is ${manager.unitActive ?? 'not running'}`));
  }
  return findings;
}

/** Returns what is missing of driver, Docker and toolkit, with or without a manager. Pure. */
export function stackFindings(facts: GatheredFacts): readonly Finding[] {
  const findings: Finding[] = [];
  const driven = valueOf(reading(facts, 'gpus', 'driver'));
  if (driven !== undefined && driven.gpus.length > 0 && driven.driver.loaded === undefined) {
    findings.push(
      finding('driver.not-loaded', `the NVIDIA kernel module is ${moduleState(facts)}`, {
        next: `${provision}; see \`dkms status\` on the host`,
      }),
    );
  }
  findings.push(...fabricFindings(facts));
  if (valueOf(reading(facts, 'docker'))?.docker.active === false) {
    findings.push(finding('docker.down', 'the Docker Engine is not running'));
  }
  const served = valueOf(reading(facts, 'gpus', 'toolkit'));
  if (served !== undefined && served.gpus.length > 0 && lacksToolkit(served)) {
    findings.push(finding('toolkit.missing', 'nvidia-container-toolkit is not installed'));
  }
  return findings;
}

/** Reports NVSwitches without a running fabric manager. One that is starting is reported by the GPUs, if it takes long. */
function fabricFindings(facts: GatheredFacts): readonly Finding[] {
  const found = valueOf(reading(facts, 'gpus', 'nvswitches', 'nvlink5', 'driver'));
  if (found === undefined || found.gpus.length === 0) return [];
  const { nvswitches, nvlink5, driver } = found;
  if (nvswitches + nvlink5.switches === 0 || driver.loaded === undefined || driver.vgpu !== undefined)
    return [];
  const active = driver.services.find(({ unit }) => unit === 'nvidia-fabricmanager.service')?.active;
  if (['active', 'activating', 'reloading'].includes(active ?? '')) return [];
  return [
    finding(
      'driver.fabric-manager',
      `the fabric manager of the NVSwitches is ${active ?? 'not installed'}: CUDA fails with error 802`,
      active === undefined ? { next: provision } : {},
    ),
  ];
}

/** Most time from the start of the facts' script, which reads the clock, to its end. */
const longestReadMs = 60_000;
const minuteMs = 60_000;

/**
 * Reports a clock that differs from this machine's by more than 5 min: logins of agents would be refused. `readAt`: this machine's
 * wall clock when the facts had been read. Info, because either clock may be the wrong one. Pure.
 */
export function clockFindings({ time }: GatheredFacts, readAt: number | undefined): readonly Finding[] {
  if (time === undefined || readAt === undefined) return [];
  const aheadMs = time - readAt;
  if (aheadMs <= 5 * minuteMs && aheadMs >= -5 * minuteMs - longestReadMs) return [];
  const minutes = Math.round(Math.abs(aheadMs) / minuteMs);
  const what = `its clock is ${minutes} min ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine’s`;
  return [finding('host.clock-off', what)];
}

/** Reports facts that could not be read. Pure. */
export function unreadFindings({ unknown }: GatheredFacts): readonly Finding[] {
  if (unknown.length === 0) return [];
  return [finding('facts.incomplete', unreadLine(unknown), { next: unreadNext(unknown) })];
}

/** Names the GPUs and the driver that azp-fleet leaves alone: those of virtual machines, and of NVIDIA's vGPU software. Pure. */
export function virtualFindings(facts: GatheredFacts): readonly Finding[] {
  const { passedThrough = [] } = valueOf(reading(facts, 'passedThrough')) ?? {};
  const vgpu = valueOf(reading(facts, 'driver'))?.driver.vgpu;
  const addresses = passedThrough.map(({ address }) => address).join(', ');
  const findings: Finding[] = [];
  if (passedThrough.length > 0)
    findings.push(finding('host.passed-through', `reserved for virtual machines (vfio-pci): ${addresses}`));
  if (vgpu !== undefined)
    findings.push(
      finding('host.vgpu', `the host uses NVIDIA vGPU (${vgpu}): azp-fleet does not replace its driver`),
    );
  return findings;
}

/** Returns the state of the driver's module. One that is built but not loaded is a kernel problem, any other a DKMS problem. */
function moduleState(facts: GatheredFacts): string {
  const running = valueOf(reading(facts, 'kernels'))?.kernels[0];
  return running?.driver === true ? `built for Linux ${running.release}, and not loaded` : 'not loaded';
}

function lacksToolkit({ toolkit }: Pick<Facts, 'toolkit'>): boolean {
  return toolkit.version === undefined && !toolkit.unpackaged;
}

/** Seconds after a boot in which the run that rebooted the host may not have reconnected: services take that long to start. */
const rebootGraceS = 900;

/**
 * Reports the drain of a run that works on the host, or that was interrupted: the next run of its command resumes it. A run whose
 * lock could not be read may work. Pure.
 */
export function leftDrain(facts: GatheredFacts, host: string): readonly Finding[] {
  const status = valueOf(statusOf(facts));
  const [left] = status === undefined ? [] : drainsOfRuns(status);
  if (left === undefined) return [];
  const lock = reading(facts, 'hostLock');
  const hostLock = valueOf(lock)?.hostLock;
  if (hostLock !== undefined) return [held(left, `; ${atWork(hostLock)}`, 'wait for that run to end')];
  const mayWork = lock.kind === 'unknown' || mayReconnect(left, facts);
  return [mayWork ? held(left, '', drainEnd(left, host)) : interrupted(left, facts, host)];
}

/** Tells whether the run drained the host before a recent boot. All times are of the host's clock. */
function mayReconnect({ at }: Drain, { time, uptimeS }: GatheredFacts): boolean {
  if (time === undefined || uptimeS === undefined) return false;
  return uptimeS < rebootGraceS && Date.parse(at) < time - uptimeS * 1000;
}

function held(left: Drain, more: string, next: string): Finding {
  return finding('agents.held-by-run', `${drainLine(left)}${more}`, { next });
}

function atWork({ who, command, since }: NonNullable<Facts['hostLock']>): string {
  const at = minuteOf(since);
  return `${who} is running ${command}${at === undefined ? '' : `, since ${at}`}`;
}

/** Reports a drain whose run no longer holds the host's lock, and so has ended. */
function interrupted(left: Drain, facts: GatheredFacts, host: string): Finding {
  const change = valueOf(reading(facts, 'changes'))?.changes.find(({ state }) => state === 'running');
  const unit = change && changeUnit(change.id);
  const as = unit === undefined || left.reason.includes(unit) ? '' : ` as ${unit}`;
  const also = change === undefined ? '' : `, and its "${change.title}" still runs${as}`;
  const first = change === undefined ? '' : 'waits for that, ';
  return finding('agents.left-drained', `${drainLine(left)}; interrupted${also}`, {
    next: resumeText(left, host, first),
  });
}
