import type { RunCommand } from '../machine/command.ts';
import type { ProcessFacts } from '../machine/process.ts';

const endMs = 10_000;

/**
 * Kills processes, each named by its pid and the tick of its start: `sh -c SCRIPT sh PID TICKS…`. One that has another start
 * is another process that got the number since.
 */
export const endScript = `while [ "$#" -ge 2 ]; do
  now=$(tr '\\n' ' ' <"/proc/$1/stat" | sed 's/.*) //' | cut -d ' ' -f 20)
  [ "$now" != "$2" ] || kill -KILL "$1"
  shift 2
done 2>/dev/null
exit 0`;

/** By systemd, since this process may not end others' processes. What hangs in the kernel stays, killed or not. */
export async function endProcesses(
  command: RunCommand,
  processes: readonly Pick<ProcessFacts, 'pid' | 'startTicks'>[],
): Promise<void> {
  // Where $ stands in a command, systemd expands variables of its own.
  const script = endScript.replaceAll('$', '$$$$');
  const named = processes.flatMap(({ pid, startTicks }) => [String(pid), String(startTicks)]);
  await command(
    'systemd-run',
    ['--wait', '--pipe', '--quiet', '/bin/sh', '-c', script, 'sh', ...named],
    endMs,
  );
}
