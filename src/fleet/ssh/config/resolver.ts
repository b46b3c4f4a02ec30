import { existsSync, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';

import pLimit from 'p-limit';

import { defined } from '../../../shared/base/objects.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import type { Target } from '../transport.ts';
import {
  buildOptions,
  nothingSaid,
  type SshSays,
  type ConnectionOptions,
  type HandedOn,
  checkHostName,
  checkUserName,
  type Local,
} from './options.ts';
import { type Dump, filesRead, parseDump, noAnswer, runSsh } from './ssh-dump.ts';
import { inventoryArguments, plainSpec } from './inventory-options.ts';
import { jumpTo, type JumpHost, jumpHostsTo } from './jump-hosts.ts';
import { ownFiles, SilentFile, StandIn } from './user-config.ts';

/** Programs at a time: each takes some 4 ms of a core. */
const maxPrograms = 8;
const systemFile = '/etc/ssh/ssh_config';

export interface ResolverParts {
  readonly home: string;
  readonly user: string;
  /** Also what `Match exec` gets: without the fleet's secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** One line for the person: there is no ssh to ask. */
  readonly notice: (line: string) => void;
  /** All hosts of the inventory: jump hosts are looked up among them. */
  readonly hosts: readonly Target[];
}

/** What `ssh -G` printed for a host, and of which files. */
interface Said {
  readonly dump: Dump;
  readonly files: readonly string[];
}

/**
 * How hosts are reached, as OpenSSH itself resolves it: `ssh -G` with the inventory's values as its arguments, once for
 * each host and hop of a run. Where no configuration exists nothing is run; where no ssh is, only the inventory counts.
 */
export class SshResolver {
  readonly #parts: ResolverParts;
  readonly #limit = pLimit(maxPrograms);
  readonly #stop = new AbortController();
  readonly #known = new Map<string, Promise<ConnectionOptions>>();
  readonly #local: Local;
  #defaults: Promise<Said | undefined> | undefined;
  readonly #texts = new Map<string, string>();
  readonly #silent: SilentFile;
  readonly #standIn: StandIn;
  /** Instead of ~/.ssh/config, where hosts are included there that we have written ourselves. */
  readonly #withoutOurSettings: string | undefined;
  #toldOfNoSsh = false;

  constructor(parts: ResolverParts) {
    this.#parts = parts;
    const { home, user, env } = parts;
    this.#local = { home, user, uid: userInfo().uid, host: hostname(), env };
    this.#silent = new SilentFile(this.#usualFiles());
    this.#standIn = new StandIn(ownFiles(home));
    this.#withoutOurSettings = this.#standIn.isNeeded ? this.#standIn.file() : undefined;
  }

  /** Throws what is wrong with the names or the configuration; `ssh.config`. `handed`: for a jump host. */
  resolve(name: string, told: SshSpec, handed?: HandedOn): Promise<ConnectionOptions> {
    const spec = { ...told, ...defined({ sshConfig: told.sshConfig ?? this.#withoutOurSettings }) };
    const key = JSON.stringify([name, spec, handed]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const asked = this.#resolve(name, spec, handed);
    this.#known.set(key, asked);
    // What failed may do the next time: a directory that Match exec asks, a name server.
    asked.catch(() => this.#known.delete(key));
    return asked;
  }

  /** The jump hosts before a host, in the order they are passed. Throws as `resolve`, and `ssh.jump`. */
  jumpHostsTo(options: ConnectionOptions): Promise<readonly JumpHost[]> {
    return jumpHostsTo(options, this.#parts.hosts, (name, spec, handed) => this.resolve(name, spec, handed));
  }

  /** The files of ssh's configuration, those that it includes as well. Empty where there is no ssh. */
  async files(sshConfig: string | undefined): Promise<readonly string[]> {
    const spec = plainSpec(sshConfig ?? this.#withoutOurSettings);
    const said = await this.#dump('localhost', inventoryArguments(spec), 'localhost');
    return said?.files ?? [];
  }

  /** Ends what still runs. */
  close(): void {
    this.#stop.abort();
    this.#silent.remove();
    this.#standIn.remove();
  }

  async #resolve(name: string, written: SshSpec, handed: HandedOn | undefined): Promise<ConnectionOptions> {
    const jump = jumpTo({ name, ssh: written }, this.#parts.hosts);
    const spec = jump === undefined ? written : { ...written, jump };
    checkHostName(spec.address ?? name, name);
    if (spec.user !== undefined) checkUserName(spec.user, name);
    return buildOptions(name, spec, await this.#ask(name, spec), this.#local, handed);
  }

  async #ask(name: string, spec: SshSpec): Promise<SshSays> {
    const configured =
      spec.sshConfig === undefined ? this.#usualFiles().length > 0 : spec.sshConfig !== 'none';
    if (!configured) return nothingSaid;
    const typed = spec.address ?? name;
    const said = await this.#dump(name, inventoryArguments(spec), typed);
    if (said === undefined) return nothingSaid;
    this.#defaults ??= this.#dump(name, ['-F', 'none'], 'localhost').catch((error: unknown) => {
      this.#defaults = undefined;
      throw error;
    });
    const defaults = await this.#defaults;
    if (defaults === undefined) return nothingSaid;
    return {
      options: said.dump,
      defaults: defaults.dump,
      silent: await this.#silence(name, spec, typed, said),
      ownKerberos: this.#mentions(
        said.files.filter((file) => !file.startsWith('/etc/ssh/')),
        'gssapiauthentication',
      ),
    };
  }

  /** Its own default and the same value set by a file look alike: then ssh is asked with ours below its files. */
  async #silence(
    name: string,
    spec: SshSpec,
    typed: string,
    { dump, files }: Said,
  ): Promise<SshSays['silent']> {
    const asDefault = (option: string, value: string): boolean => dump.get(option)?.[0] === value;
    const strictness = asDefault('stricthostkeychecking', 'ask');
    const keepAlive = asDefault('serveraliveinterval', '0');
    const doubtful =
      (strictness && this.#mentions(files, 'stricthostkeychecking')) ||
      (keepAlive && this.#mentions(files, 'serveraliveinterval'));
    if (!doubtful) return { strictness, keepAlive };
    const sshConfig = this.#silent.path(spec.sshConfig);
    const below = await this.#dump(name, inventoryArguments({ ...spec, sshConfig }), typed);
    const left = (option: string): string | undefined => below?.dump.get(option)?.[0];
    return {
      strictness: strictness && left('stricthostkeychecking') !== 'ask',
      keepAlive: keepAlive && left('serveraliveinterval') !== '0',
    };
  }

  /** Undefined where there is no ssh. Throws where it refuses. */
  async #dump(name: string, args: readonly string[], typed: string): Promise<Said | undefined> {
    const all = ['-T', '-v', ...args, '-G', '--', typed];
    const byHand = this.#told([...args, '-G', typed].map(quote).join(' '));
    const said = await this.#limit(() => runSsh(all, this.#parts.env, this.#stop.signal));
    if (said.kind === 'said') return { dump: parseDump(said.stdout), files: filesRead(said.stderr) };
    if (said.kind === 'refused') throw noAnswer(name, { ...said, stderr: this.#told(said.stderr) }, byHand);
    if (said.kind !== 'no-ssh') throw noAnswer(name, said, byHand);
    if (!this.#toldOfNoSsh)
      this.#parts.notice(
        'there is no program ssh here: its configuration is not read, only the inventory counts',
      );
    this.#toldOfNoSsh = true;
    return undefined;
  }

  /** Replaces our copy of the user's file by its own name, for messages. */
  #told(text: string): string {
    const file = this.#withoutOurSettings;
    return file === undefined
      ? text
      : text.replaceAll(`-F ${quote(file)} `, '').replaceAll(file, `${this.#parts.home}/.ssh/config`);
  }

  #usualFiles(): readonly string[] {
    return [`${this.#parts.home}/.ssh/config`, systemFile].filter((file) => existsSync(file));
  }

  /** Whether one of the files speaks of an option at all. */
  #mentions(files: readonly string[], option: string): boolean {
    return files.some((file) => this.#text(file).includes(option));
  }

  #text(file: string): string {
    const known = this.#texts.get(file);
    if (known !== undefined) return known;
    let text = '';
    try {
      text = readFileSync(file, 'utf8').toLowerCase();
    } catch {
      // ssh has read it; whatever is there now says nothing.
    }
    this.#texts.set(file, text);
    return text;
  }
}
