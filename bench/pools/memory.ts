import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

export interface Memory {
  /** Agents that it knew at the end. */
  readonly agents: number;
  /** The most that its heap held after a check, and that the process held at any time; bytes. */
  readonly heap: number;
  readonly peak: number;
}

/** The flags with which the unit starts Node. */
function unitFlags(): readonly string[] {
  const unit = readFileSync(join(import.meta.dirname, '../../units/azp-fleet-manager.service'), 'utf8');
  const [, flags] = /^ExecStart=\S+\/node ((?:--\S+ )+)/mu.exec(unit) ?? [];
  if (flags === undefined) throw new Error('the unit starts no Node');
  return flags.trim().split(' ');
}

/** Bundles what one manager does with its pool into a file that Node runs with the flags of the unit, which reads no TypeScript. */
export async function bundle(folder: string): Promise<string> {
  const outfile = join(folder, 'one-manager.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'one-manager.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
  return outfile;
}

/** Undefined: the process ended for want of memory. */
export function memoryOf(program: string, args: readonly string[]): Memory | undefined {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...unitFlags(), program, ...args], {
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status === 0) return JSON.parse(stdout) as Memory;
  if (/heap out of memory|heap limit/u.test(stderr)) return undefined;
  throw new Error(`one manager ended with ${status}: ${stderr}`);
}
