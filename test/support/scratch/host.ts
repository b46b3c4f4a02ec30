import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { redirect } from './redirect.ts';
import { linkTools } from './tools.ts';

/** As systemd and the SSH session set it. */
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const programs = '/usr/local/sbin';
const tab = String.fromCodePoint(9);
const callsFile = '.calls';
const unquoted = 'unquoted';

/** For a script that hangs: on a slow machine with 20 busy loops beside it, the longest one took more than five minutes. */
export const hangsMs = 1_500_000;

export interface Run {
  /** Arguments of the shell before the script's file; as a durable change has it: `-eu`. */
  readonly flags: readonly string[];
  /** The script's own arguments. */
  readonly args: readonly string[];
  readonly input: string | Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  readonly umask: string;
  readonly limitMs: number;
}

export interface Outcome {
  /** Exit code; `late` when it ran out of time. */
  readonly code: number | 'late';
  readonly stdout: string;
  readonly stderr: string;
  /** The calls of the stand-in programs, in order. */
  readonly calls: readonly string[];
  /** The changed files, by path: `644 TEXT`, `755 /` for a folder, `-> TARGET`, `gone`. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * A folder that a root script takes for the whole machine: its absolute paths are moved below it, and the only programs
 * are the system's plain tools and stand-ins, which record their calls. The shell also splits words at commas,
 * and every path of the folder has one: a path that the script does not quote is split.
 */
export class ScratchHost {
  readonly root: string;

  readonly #beside: ChildProcess[] = [];

  /** `prefix`: of the folder's name, where a real program cannot handle commas. */
  constructor(prefix = 'azp,scratch-') {
    this.root = mkdtempSync(join(tmpdir(), prefix));
    for (const folder of ['etc', 'opt', 'root', 'run', 'tmp', 'var/lib', programs.slice(1)])
      mkdirSync(join(this.root, folder), { recursive: true });
    linkTools(join(this.root, 'bin'));
    this.program('mktemp', mktemp, { silent: true });
    this.program('sleep', '');
  }

  at(path: string): string {
    return join(this.root, path);
  }

  file(path: string, text: string | Uint8Array = '', { mode = 0o644 } = {}): this {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
    chmodSync(this.at(path), mode);
    return this;
  }

  /** Sets the time of the last write, in seconds before now. */
  age(path: string, ageS: number): this {
    const time = Date.now() / 1000 - ageS;
    utimesSync(this.at(path), time, time);
    return this;
  }

  folder(...paths: readonly string[]): this {
    for (const path of paths) mkdirSync(this.at(path), { recursive: true });
    return this;
  }

  link(path: string, target: string): this {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    symlinkSync(target.startsWith('/') ? this.at(target) : target, this.at(path));
    return this;
  }

  /** Adds a character device, as those of GPUs are: `-f` is false. */
  device(path: string): this {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    symlinkSync('/dev/null', this.at(path));
    return this;
  }

  /** Adds a file to the working folder for each pattern that the script has in single quotes: `'docker*'` matches it. */
  matching(script: string): this {
    for (const [, pattern = ''] of script.matchAll(/(?<![\w=$])'((?:[\w.+=-]|\[0-9\])*[*?][\w.+=*?-]*)'/g))
      this.file(
        `/root/${pattern.replace('[0-9]', '1').replace('*', unquoted).replaceAll('*', '').replaceAll('?', 'x')}`,
      );
    return this;
  }

  /** Adds a stand-in: shell text, whose absolute paths are moved below the root, too. */
  program(name: string, body: string, { silent = false } = {}): this {
    const path = name.startsWith('/') ? name : `${programs}/${name}`;
    const note = noteCall(path.split('/').at(-1) ?? '', this.at(callsFile), silent);
    return this.file(path, `#!/bin/sh\n${note}${redirect(body, this.root)}\n`, { mode: 0o755 });
  }

  drop(...paths: readonly string[]): this {
    for (const path of paths) rmSync(this.at(path), { recursive: true, force: true });
    return this;
  }

  without(...names: readonly string[]): this {
    for (const name of names) rmSync(this.at(`${programs}/${name}`), { force: true });
    return this;
  }

  async run(script: string, run: Run): Promise<Outcome> {
    const before = this.#tree();
    const said = await this.execute(script, run);
    return { ...said, calls: this.#calls(), files: difference(before, this.#tree()) };
  }

  /** Runs a script without checking its other effects. */
  async execute(
    script: string,
    { flags, args, input, env, umask, limitMs }: Run,
  ): Promise<Pick<Outcome, 'code' | 'stdout' | 'stderr'>> {
    const file = join(this.root, '.script');
    writeFileSync(
      file,
      `umask ${umask}; IFS=' ${tab},
'
${redirect(script, this.root)}`,
    );
    const child = spawn('/bin/sh', [...flags.map((flag) => redirect(flag, this.root)), file, ...args], {
      cwd: this.at('root'),
      env: { PATH: redirect(searchPath, this.root), HOME: this.at('root'), ...this.#below(env) },
      detached: true,
    });
    child.stdin.on('error', () => undefined).end(input);
    let [stdout, stderr, late] = ['', '', false];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const limit = setTimeout(() => {
      late = true;
      killGroup(child);
    }, limitMs);
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (ended) => resolve(ended ?? 128));
    });
    clearTimeout(limit);
    killGroup(child);
    return {
      code: late ? 'late' : code,
      stdout: this.#bare(stdout),
      stderr: this.#bare(stderr),
    };
  }

  /** Starts a program that continues beside the script, and waits for its first line. Resolves with its pid. */
  async beside(script: string): Promise<number> {
    const child = spawn('/bin/sh', ['-c', redirect(script, this.root)], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    this.#beside.push(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    return child.pid ?? 0;
  }

  remove(): void {
    for (const child of this.#beside) killGroup(child);
    // A killed process may still be writing its last file.
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  }

  #below(env: Run['env']): Record<string, string> {
    return Object.fromEntries(Object.entries(env).map(([name, text]) => [name, redirect(text, this.root)]));
  }

  #calls(): string[] {
    const file = join(this.root, callsFile);
    return existsSync(file) ? this.#bare(readFileSync(file, 'utf8')).trimEnd().split('\n') : [];
  }

  /** Returns the text with the paths of a host. */
  #bare(text: string): string {
    return text
      .replaceAll(`${this.root}/.script`, 'script')
      .replaceAll(this.root, '')
      .replaceAll(/^script: \d+: /gm, 'script: ');
  }

  #tree(): Map<string, string> {
    const found = new Map<string, string>();
    const walk = (folder: string): void => {
      for (const entry of readdirSync(this.at(folder), { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (path === programs || path === '/bin' || /^\/(?:run\/)?\./.test(path)) continue;
        found.set(path, this.#seen(path));
        if (entry.isDirectory()) walk(path);
      }
    };
    walk('/');
    return found;
  }

  #seen(path: string): string {
    const file = this.at(path);
    const stat = lstatSync(file);
    if (stat.isSymbolicLink()) return `-> ${this.#bare(readlinkSync(file))}`;
    const mode = (stat.mode & 0o7777).toString(8);
    return stat.isFile() ? `${mode} ${this.#bare(readFileSync(file, 'utf8'))}` : `${mode} /`;
  }
}

/** Kills the script and the processes that it left running. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // No process is left.
  }
}

function difference(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return Object.fromEntries(
    paths
      .filter((path) => before.get(path) !== after.get(path))
      .map((path) => [path, after.get(path) ?? 'gone']),
  );
}

/**
 * Returns shell text that records a call. Arguments with special characters are in quotes: a lost quote is visible. Of
 * a silent program it records only a pattern that became a file's name.
 */
function noteCall(name: string, file: string, silent: boolean): string {
  if (silent)
    return `for each; do
  case $each in *${unquoted}*) printf '%s\\n' "${name} $each" >>${file} ;; esac
done
`;
  return `note=${name}
for each; do
  case $each in '' | *[!A-Za-z0-9_@%+=:,./-]*) note="$note '$each'" ;; *) note="$note $each" ;; esac
done
printf '%s\\n' "$note" >>${file}
`;
}

/** A stand-in of mktemp that returns the same name each time. */
const mktemp = `for name; do :; done
case $name in -d) name=/tmp/tmp.XXXXXX ;; esac
[ ! -e "$name" ] && mkdir -m 700 "$name" && echo "$name"`;
