import { timestamp } from '../../shared/base/clock.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { CommandResult } from './command.ts';
import { unescaped } from './datasets.ts';

/** A mounted NFS file system. */
interface NetworkMount {
  readonly path: string;
  /** `nas-1:/export/data` */
  readonly source: string;
}

/** An NFS mount that does not answer, or fails. */
interface FailedMount extends NetworkMount {
  /** What `stat` printed; absent: it does not answer. */
  readonly error?: string;
  /** ISO 8601: the start of the first check that failed. */
  readonly since: string;
}

/** Mounts that are checked: each check is a process. */
const mostMounts = 64;
/** Real milliseconds for an answer. */
const deadlineMs = 10_000;

/** Returns the NFS mounts in the text of /proc/self/mountinfo; of several at one path the last, which covers the others. Pure. */
export function networkMounts(mountinfo: string): readonly NetworkMount[] {
  const found = new Map<string, NetworkMount>();
  for (const line of mountinfo.split('\n')) {
    const [mount = '', system = ''] = line.split(' - ');
    const path = unescaped(mount.split(' ')[4] ?? '');
    const [type, source = ''] = system.split(' ');
    found.delete(path);
    if (type === 'nfs' || type === 'nfs4') found.set(path, { path, source: unescaped(source) });
  }
  return [...found.values()];
}

/**
 * Checks that NFS mounts answer. A file system that does not answer blocks whoever asks it, so that a child asks: it may hang in the
 * kernel, and no other child asks the same mount while it does.
 */
export class NetworkMounts {
  readonly #tools: Pick<ManagerDeps, 'command' | 'clock' | 'mountinfo'>;
  readonly #failed = new Map<string, FailedMount>();
  readonly #checking = new Map<string, Promise<void>>();
  /** Children that outlived their deadline, by path. */
  readonly #hanging = new Map<string, CommandResult>();
  #unchecked = 0;

  constructor(tools: Pick<ManagerDeps, 'command' | 'clock' | 'mountinfo'>) {
    this.#tools = tools;
  }

  get findings(): readonly Finding[] {
    const more = this.#unchecked;
    return [...[...this.#failed.values()].map(mountFinding), ...(more === 0 ? [] : [uncheckedFinding(more)])];
  }

  /** Checks all mounts. `first`: folders whose mounts come first where there are more than are checked. */
  async check(first: readonly string[] = []): Promise<void> {
    const mounts = networkMounts(await this.#tools.mountinfo());
    const needed = mounts.filter((mount) => first.some((path) => mountOf(path, mounts) === mount));
    const checked = [...new Set([...needed, ...mounts])].slice(0, mostMounts);
    this.#unchecked = mounts.length - checked.length;
    for (const path of this.#failed.keys())
      if (!checked.some((mount) => mount.path === path)) this.#failed.delete(path);
    await Promise.all(checked.map((mount) => this.#checkOne(mount)));
  }

  /** Checks the mount that has this folder, and tells how it fails. Undefined: it answers, or the folder is on no NFS mount. */
  async problemAt(folder: string): Promise<string | undefined> {
    const mount = mountOf(folder, networkMounts(await this.#tools.mountinfo()));
    if (mount === undefined) return undefined;
    await this.#checkOne(mount);
    const failed = this.#failed.get(mount.path);
    return failed && failedText(failed);
  }

  #checkOne(mount: NetworkMount): Promise<void> {
    const running = this.#checking.get(mount.path);
    if (running !== undefined) return running;
    const check = this.#checkNow(mount).finally(() => this.#checking.delete(mount.path));
    this.#checking.set(mount.path, check);
    return check;
  }

  async #checkNow(mount: NetworkMount): Promise<void> {
    const { path } = mount;
    if (this.#hanging.get(path)?.stillRunning() === true) return;
    this.#hanging.delete(path);
    const at = timestamp(this.#tools.clock);
    // The status of the file system always comes from the server; that of a file may come from a cache.
    const result = await this.#tools.command('stat', ['-f', '-c', '%T', '--', path], deadlineMs);
    if (result.timedOut) this.#hanging.set(path, result);
    const { since = at } = this.#failed.get(path) ?? {};
    if (!result.timedOut && result.code === 0) this.#failed.delete(path);
    else this.#failed.set(path, { ...mount, since, ...(result.timedOut ? {} : { error: errorIn(result) }) });
  }
}

/** Returns the innermost mount that has this folder. */
function mountOf(folder: string, mounts: readonly NetworkMount[]): NetworkMount | undefined {
  return mounts
    .filter(({ path }) => path === '/' || folder === path || folder.startsWith(`${path}/`))
    .toSorted((one, other) => other.path.length - one.path.length)[0];
}

/** Returns the reason in `stat: cannot read file system information for '/data': Stale file handle`. */
function errorIn({ code, output }: CommandResult): string {
  const line = output.trim().split('\n').at(-1) ?? '';
  return foreignLine(line.slice(line.lastIndexOf(': ') + 1).trim(), 100) || `stat exits with ${code}`;
}

/** Returns `the NFS mount /data of nas-1:/export does not answer, since 2026-11-21 08:15 UTC`. */
function failedText({ path, source, error, since }: FailedMount): string {
  const how = error === undefined ? 'does not answer' : `fails (${error})`;
  const at = minuteOf(since);
  const from = at === undefined ? '' : `, since ${at}`;
  return `the NFS mount ${foreignLine(path, 200)} of ${foreignLine(source, 200)} ${how}${from}`;
}

function mountFinding(mount: FailedMount): Finding {
  const server = foreignLine(mount.source.replace(/:\/.*$/s, ''), 200);
  return {
    code: 'host.nfs-failed',
    severity: 'warn',
    what: failedText(mount),
    next: `check the server ${server} and the network path to it; jobs that use the mount wait until it answers, or until a person unmounts it (\`umount -f\`)`,
  };
}

function uncheckedFinding(count: number): Finding {
  return {
    code: 'host.nfs-unchecked',
    severity: 'info',
    what: `whether ${count} more NFS mounts answer is unknown: ${mostMounts} are checked, those of datasets first`,
    next: 'unmount those that no job needs',
  };
}
