import { spawnSync } from 'node:child_process';
import { env } from 'node:process';

/**
 * What Prometheus' own tool says: scripts/dev.mjs brings it. Undefined where it is not and cannot be (without root, off
 * Debian); in CI it must be there.
 */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly code: number | null; readonly said: string } | undefined {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  if (error === undefined) return { code: status, said: `${stdout}${stderr}` };
  if (env['CI'] !== undefined)
    throw new Error('promtool is missing; next: npm run test:unit, which brings it');
  return undefined;
}
