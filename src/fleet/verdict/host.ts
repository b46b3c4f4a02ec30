import type { Facts } from '../facts/facts.ts';
import { unreadLine, unreadNext, unreadOf } from '../facts/unread.ts';
import type { Code } from '../../shared/base/codes/code.ts';
import {
  type Drain,
  drainEnd,
  drainLine,
  drainsOfRuns,
  minuteOf,
  resumeText,
} from '../../shared/contract/drain.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import type { Finding } from '../../shared/health/verdict.ts';

const provision = 'run `azp-fleet provision`';

/** Returns what is missing according to the facts alone. If anything is, the manager's report adds nothing. */
export function hostFindings(facts: Facts): readonly Finding[] {
  const { gpus, driver, docker, toolkit, manager } = facts;
  const isRead = (...keys: readonly (keyof Facts)[]) => unreadOf(facts, ...keys).length === 0;
  if (isRead('manager') && manager.current === undefined) {
    return [fail('host.not-provisioned', 'the host is not provisioned: it has no manager', provision)];
  }
  const findings = [];
  if (isRead('gpus', 'driver') && gpus.length > 0 && driver.loaded === undefined) {
    findings.push(
      fail(
        'driver.not-loaded',
        `the NVIDIA kernel module is ${moduleState(facts)}`,
        `${provision}; see \`dkms status\` on the host`,
      ),
    );
  }
  if (isRead('docker') && !docker.active) {
    findings.push(
      fail('docker.down', 'the Docker Engine is not running', 'check `systemctl status docker` on the host'),
    );
  }
  if (isRead('gpus', 'toolkit') && gpus.length > 0 && toolkit.version === undefined && !toolkit.unpackaged) {
    findings.push(fail('toolkit.missing', 'nvidia-container-toolkit is not installed', provision));
  }
  if (isRead('manager') && manager.unitActive !== 'active' && manager.unitActive !== 'activating') {
    const next = 'check `journalctl -u azp-fleet-manager` on the host';
    findings.push(fail('manager.down', `the manager is ${manager.unitActive ?? 'not running'}`, next));
  }
  return findings;
}

/** Reports facts that could not be read. Pure. */
export function unreadFindings({ unknown }: Facts): readonly Finding[] {
  if (unknown.length === 0) return [];
  return [fail('facts.incomplete', unreadLine(unknown), unreadNext(unknown))];
}

/** Returns the state of the driver's module. One that is built but not loaded is a kernel problem, any other a DKMS problem. */
function moduleState({ kernels: [running] }: Facts): string {
  return running?.driver === true ? `built for Linux ${running.release}, and not loaded` : 'not loaded';
}

function fail(code: Code, what: string, next: string): Finding {
  return { code, severity: 'fail', what, next };
}

/** Seconds after a boot in which the run that rebooted the host may not have reconnected: services take that long to start. */
const rebootGraceS = 900;

/**
 * Reports the drain of a run that works on the host, or that was interrupted: the next run of its command resumes it. A run whose
 * lock could not be read may work. Pure.
 */
export function leftDrain(facts: Facts, host: string): readonly Finding[] {
  const [left] = facts.manager.status === undefined ? [] : drainsOfRuns(facts.manager.status);
  if (left === undefined) return [];
  const { hostLock } = facts;
  if (hostLock !== undefined) return [held(left, `; ${atWork(hostLock)}`, 'wait for that run to end')];
  const mayWork = unreadOf(facts, 'hostLock').length > 0 || mayReconnect(left, facts);
  return [mayWork ? held(left, '', drainEnd(left, host)) : interrupted(left, facts, host)];
}

/** Tells whether the run drained the host before a recent boot. All times are of the host's clock. */
function mayReconnect({ at }: Drain, { time, uptimeS }: Facts): boolean {
  if (time === undefined || uptimeS === undefined) return false;
  return uptimeS < rebootGraceS && Date.parse(at) < time - uptimeS * 1000;
}

function held(left: Drain, more: string, next: string): Finding {
  return { code: 'agents.held-by-run', severity: 'warn', what: `${drainLine(left)}${more}`, next };
}

function atWork({ who, command, since }: NonNullable<Facts['hostLock']>): string {
  const at = minuteOf(since);
  return `${who} is running ${command}${at === undefined ? '' : `, since ${at}`}`;
}

/** Reports a drain whose run no longer holds the host's lock, and so has ended. */
function interrupted(left: Drain, { changes }: Facts, host: string): Finding {
  const change = changes.find(({ state }) => state === 'running');
  const unit = change && changeUnit(change.id);
  const as = unit === undefined || left.reason.includes(unit) ? '' : ` as ${unit}`;
  const also = change === undefined ? '' : `, and its "${change.title}" still runs${as}`;
  const first = change === undefined ? '' : 'waits for that, ';
  return {
    code: 'agents.left-drained',
    severity: 'warn',
    what: `${drainLine(left)}; interrupted${also}`,
    next: resumeText(left, host, first),
  };
}
