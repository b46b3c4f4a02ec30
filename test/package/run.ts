import { spawn, type ChildProcess } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Where {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Gets the child when it has begun; it leads a separate process group, as in a terminal. */
  readonly begun?: (child: ChildProcess) => void;
}

/** A program to its end, without a terminal. */
export async function ran(program: string, args: readonly string[], where: Where): Promise<Ran> {
  const { cwd, env, begun } = where;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  begun?.(child);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { status, stdout, stderr };
}

/** The same, of a program that must end well. */
export async function ranWell(program: string, args: readonly string[], where: Where): Promise<Ran> {
  const result = await ran(program, args, where);
  if (result.status !== 0)
    throw new Error(`${program} ${args.join(' ')}: exit ${result.status}\n${result.stdout}${result.stderr}`);
  return result;
}
