import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** How many runs' debug logs are kept. */
const keep = 200;

/** The debug log of this run, below $XDG_STATE_HOME. Older ones beyond a bound are removed. */
export function newLogPath(stateHome: string, at: Date, pid: number): string {
  const folder = join(stateHome, 'azp-fleet', 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const logs = readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .sort();
  for (const name of logs.slice(0, Math.max(0, logs.length - keep + 1)))
    rmSync(join(folder, name), { force: true });
  const stamp = at.toISOString().replaceAll(':', '').replace('.', '-');
  return join(folder, `${stamp}-${pid}.log`);
}
