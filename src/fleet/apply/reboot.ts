import { FleetError } from '../../shared/base/errors.ts';
import type { HostConnection } from './connection.ts';
import type { ApplyTools } from './apply-tools.ts';

export const readBootId = 'cat /proc/sys/kernel/random/boot_id\n';
const wellFormed = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * What starts at boot is part of the facts that come next; a host that never gets there is judged as it is then. systemd waits
 * by itself from 240 on; the one of release 8 of Red Hat's systems says at once that it is starting.
 */
export const settle = `timeout 180 sh -c 'while case $(systemctl is-system-running --wait 2>/dev/null) in
  initializing | starting) sleep 1 ;;
  *) false ;;
esac; do :; done' || :
`;
/** Detached, so that the session can end in order before the machine goes down. */
export const rebootScript = `nohup sh -c 'sleep 1; systemctl reboot' </dev/null >/dev/null 2>&1 &\n`;

/**
 * Reboots and proves it: a connection made afterwards must read another, well-formed boot id. An error text, a
 * refused connection or a short uptime prove nothing: big machines are slow to go down.
 */
export async function reboot(
  connection: HostConnection,
  host: string,
  timeoutS: number,
  tools: Pick<ApplyTools, 'emit' | 'clock' | 'sleep' | 'signal'>,
): Promise<void> {
  const before = await bootId(connection);
  const wait = { since: tools.clock.monotonic(), limitMs: timeoutS * 1000 };
  tools.emit({ kind: 'host-state', host, state: 'rebooting', wait });
  await (await connection.session()).script(rebootScript, { totalTimeoutMs: 15_000 });
  await connection.drop();
  const deadline = tools.clock.monotonic() + timeoutS * 1000;
  let seen = 'still the boot id from before';
  for (let wait = 2000; ; wait = Math.min(wait * 1.5, 15_000)) {
    await tools.sleep(wait + Math.random() * 1000);
    try {
      const now = await bootId(connection);
      if (wellFormed.test(now) && now !== before) break;
      seen = 'still the boot id from before';
    } catch (error) {
      if (tools.signal.aborted || isFinal(error)) throw error;
      seen = error instanceof Error ? error.message : String(error);
    }
    await connection.drop();
    if (tools.clock.monotonic() >= deadline) throw notBack(host, timeoutS, seen);
  }
  await (await connection.session()).script(settle, { totalTimeoutMs: 200_000, signal: tools.signal });
  tools.emit({ kind: 'host-state', host, state: 'applying' });
}

async function bootId(connection: HostConnection): Promise<string> {
  const session = await connection.session();
  const { stdout } = await session.script(readBootId, { as: 'login', totalTimeoutMs: 10_000 });
  return stdout.trim();
}

/** Another host key after the reboot is nothing to wait for. */
function isFinal(error: unknown): boolean {
  return error instanceof FleetError && error.problem.code.startsWith('ssh.host-key');
}

function notBack(host: string, timeoutS: number, seen: string): FleetError {
  return new FleetError({
    code: 'plan.reboot-timeout',
    host,
    what: `the host did not come back within ${timeoutS} s of its reboot`,
    expected: 'a new boot id over a new connection',
    seen,
    next: 'look at its console; when it is up, run "azp-fleet status"; a provision goes on when it is run again',
  });
}
