import type { Problem } from '../../shared/base/errors.ts';
import type { Observation } from '../status/row.ts';
import type { HostRung } from './host-seen.ts';

/** The rung of each problem of a connection. Others come from the settings, before any packet is sent. */
const rungs: readonly (readonly [RegExp, HostRung])[] = [
  [/^ssh\.dns$/, 'dns'],
  [/^ssh\.(?:refused|timeout|unreachable|no-server|handshake|connection-lost)$/, 'port'],
  [/^ssh\.host-/, 'host-key'],
  [/^ssh\.(?:auth|no-session|no-shell|start-timeout|output-too-long)$/, 'login'],
  [/^ssh\.(?:sudo-|no-sudo|not-in-sudoers)/, 'sudo'],
];

/** A connection through a jump host or a ProxyCommand, which resolve the host's name themselves. */
const isIndirect = ({ code, what }: Problem): boolean =>
  code === 'ssh.jump' || code === 'ssh.proxy-command' || /^(?:the )?jump host /.test(what);

interface FailedRung {
  readonly rung: HostRung;
  /** Earlier rungs that the connection did not reach by itself. */
  readonly skips: readonly HostRung[];
}

/** Returns the rung at which reading a host ended. Pure. */
export function failedRung({ isConnected = false }: Observation, problem: Problem): FailedRung {
  const found = rungs.find(([pattern]) => pattern.test(problem.code))?.[1];
  if (isConnected) return { rung: found === 'login' || found === 'sudo' ? found : 'facts', skips: [] };
  if (isIndirect(problem)) return { rung: 'port', skips: ['dns'] };
  return { rung: found ?? 'settings', skips: [] };
}
