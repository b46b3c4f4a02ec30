import { posix } from 'node:path';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { RunCommand } from '../machine/command.ts';
import type { ProcessFacts } from '../machine/process.ts';

const longestCommandLine = 4096;
const commandMs = 5_000;
const mostLogins = 1_000;

/** What runs other programs: what it was given says more than its own name. */
const interpreter =
  /^(?:python|pypy|node|perl|ruby|bash|dash|zsh|ksh|sh|Rscript|julia|java|torchrun|accelerate|deepspeed|mpirun|uv)[\d.]*$/u;

/** The program that a command line (arguments separated by NUL) is for; undefined: it has none. Pure. */
export function programIn(commandLine: string): string | undefined {
  // Cleaned as a whole: of half a sequence the end would look like a name.
  const [first = '', ...rest] = commandLine.split('\0').map((argument) => foreignLine(argument));
  const program = posix.basename(first);
  if (program === '') return undefined;
  const given = rest.find((argument) => argument !== '' && !argument.startsWith('-'));
  // With -c it is not a name but a program.
  if (!interpreter.test(program) || given === undefined || rest[0] === '-c') return program;
  return posix.basename(given);
}

/**
 * What a process was started as. Its command line lies in its own memory, whose lock a process that hangs may hold: it is
 * read by a program that can be left behind. Undefined: it does not tell.
 */
export async function programOf(
  command: RunCommand,
  { pid, state }: Pick<ProcessFacts, 'pid' | 'state'>,
): Promise<string | undefined> {
  if (state === 'D') return undefined;
  const args = ['-c', String(longestCommandLine), `/proc/${pid}/cmdline`];
  const { code, output } = await command('head', args, commandMs);
  return code === 0 ? programIn(output) : undefined;
}

/** Names of accounts; also those that a directory service knows, which the files of the host do not have. */
export class Logins {
  readonly #command: RunCommand;
  readonly #known = new Map<number, string>();

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** `uid 4000` where nobody has that number. */
  async of(uid: number): Promise<string> {
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const { code, output, timedOut } = await this.#command('getent', ['passwd', String(uid)], commandMs);
    const [login = ''] = code === 0 ? output.split(':', 1) : [];
    const name = login === '' ? `uid ${uid}` : foreignLine(login, 64);
    // What a directory did not answer in time it may answer later.
    if (timedOut) return name;
    if (this.#known.size >= mostLogins) this.#known.clear();
    this.#known.set(uid, name);
    return name;
  }
}
