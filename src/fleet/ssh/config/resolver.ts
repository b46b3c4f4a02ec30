import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

import pLimit from 'p-limit';

import { defined } from '../../../shared/base/objects.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import type { Target } from '../transport.ts';
import {
  buildOptions,
  noConfig,
  type SshConfig,
  type ConnectionOptions,
  type InheritedSettings,
  checkHostName,
  checkUserName,
  type Local,
} from './options.ts';
import { type Answer, type Dump, filesRead, parseDump, noAnswer, runSsh } from './ssh-dump.ts';
import { inventoryArguments, plainSpec } from './inventory-options.ts';
import { jumpTo, type JumpHost, jumpHostsTo } from './jump-hosts.ts';
import { DefaultsBelow, ownFiles, ConfigCopy } from './user-config.ts';

/** Maximum ssh processes at a time: each takes some 4 ms of a core. */
const maxPrograms = 8;
const systemFile = '/etc/ssh/ssh_config';

/**
 * Matches, in lower case, what may make the settings of two hosts differ: `Match`, `Host` with names, other names, a jump host
 * (which has none itself), and tokens.
 */
const ofOneHost =
  /^\s*(?:"|match\b|hostname\b|canonical|proxyjump\b|host(?=[\s=])(?!\s*[\s=]\s*\*\s*$))|^(?!\s*#).*%/m;
/** Matches a name that ssh uses as it is typed; ssh rewrites numbers as addresses. */
const plainName = /^[a-z][\w.-]*$/;

export interface ResolverParts {
  readonly home: string;
  readonly user: string;
  /** Environment, also of `Match exec`: without the fleet's secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shows one line to the user: ssh is not installed. */
  readonly notice: (line: string) => void;
  /** All hosts of the inventory, which may be jump hosts. */
  readonly hosts: readonly Target[];
}

/** The output of `ssh -G` for a host, and the files that ssh read. */
interface SshOutput {
  readonly dump: Dump;
  readonly files: readonly string[];
}

/**
 * Resolves the settings of connections by OpenSSH itself: runs `ssh -G` with the inventory's values as arguments, once
 * for each host and hop of a run, or once for all hosts if no file has settings for some of them. Without an SSH configuration it
 * runs nothing; without ssh it uses only the inventory.
 */
export class SshResolver {
  readonly #parts: ResolverParts;
  readonly #limit = pLimit(maxPrograms);
  readonly #stop = new AbortController();
  readonly #known = new Map<string, Promise<ConnectionOptions>>();
  readonly #local: Local;
  #defaults: Promise<SshOutput | undefined> | undefined;
  /** By the inventory's arguments: the settings that all hosts have; undefined: they may differ. */
  readonly #ofAll = new Map<string, Promise<SshConfig | undefined>>();
  readonly #texts = new Map<string, string>();
  readonly #defaultsBelow: DefaultsBelow;
  readonly #configCopy: ConfigCopy;
  /** File instead of ~/.ssh/config, if that includes hosts written by azp-fleet. */
  readonly #withoutOurSettings: string | undefined;
  #reportedNoSsh = false;

  constructor(parts: ResolverParts) {
    this.#parts = parts;
    const { home, user, env } = parts;
    this.#local = { home, user, uid: process.getuid?.() ?? 0, host: hostname(), env };
    this.#defaultsBelow = new DefaultsBelow(this.#usualFiles());
    this.#configCopy = new ConfigCopy(ownFiles(home));
    this.#withoutOurSettings = this.#configCopy.isNeeded ? this.#configCopy.file() : undefined;
  }

  /** Returns the settings of a host. Throws `ssh.config`. `inherited`: for a jump host. */
  resolve(name: string, written: SshSpec, inherited?: InheritedSettings): Promise<ConnectionOptions> {
    const spec = { ...written, ...defined({ sshConfig: written.sshConfig ?? this.#withoutOurSettings }) };
    const key = JSON.stringify([name, spec, inherited]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const resolving = this.#resolve(name, spec, inherited);
    this.#known.set(key, resolving);
    // A failure may be temporary, e.g. of a directory that Match exec queries, or of a name server.
    resolving.catch(() => this.#known.delete(key));
    return resolving;
  }

  /** Returns the jump hosts of a host, in the order of the connection. Throws like `resolve`, and `ssh.jump`. */
  jumpHostsTo(options: ConnectionOptions): Promise<readonly JumpHost[]> {
    return jumpHostsTo(options, this.#parts.hosts, (name, spec, inherited) =>
      this.resolve(name, spec, inherited),
    );
  }

  /** Returns the files of the SSH configuration, with included ones. Empty if ssh is not installed. */
  async files(sshConfig: string | undefined): Promise<readonly string[]> {
    const spec = plainSpec(sshConfig ?? this.#withoutOurSettings);
    const output = await this.#dump('localhost', inventoryArguments(spec), 'localhost');
    return output?.files ?? [];
  }

  /** Ends running ssh processes, and removes temporary files. */
  close(): void {
    this.#stop.abort();
    this.#defaultsBelow.remove();
    this.#configCopy.remove();
  }

  async #resolve(
    name: string,
    written: SshSpec,
    inherited: InheritedSettings | undefined,
  ): Promise<ConnectionOptions> {
    const jump = jumpTo({ name, ssh: written }, this.#parts.hosts);
    const spec = jump === undefined ? written : { ...written, jump };
    checkHostName(spec.address ?? name, name);
    if (spec.user !== undefined) checkUserName(spec.user, name);
    return buildOptions(name, spec, await this.#query(name, spec), this.#local, inherited);
  }

  async #query(name: string, spec: SshSpec): Promise<SshConfig> {
    const configured =
      spec.sshConfig === undefined ? this.#usualFiles().length > 0 : spec.sshConfig !== 'none';
    if (!configured) return noConfig;
    const typed = spec.address ?? name;
    const files = spec.sshConfig === undefined ? this.#usualFiles() : [spec.sshConfig];
    // A port changes nothing else, unless it is a token of some file.
    const { port, ...rest } = spec;
    const key = JSON.stringify(inventoryArguments(rest));
    const isPlain = (plainName.test(typed) || isIP(typed) === 4) && !key.includes('%');
    if (!isPlain || spec.jump?.includes(typed) === true || !this.#areOfAll(files))
      return (await this.#ask(name, spec, typed)).config;
    let ofAll = this.#ofAll.get(key);
    if (ofAll === undefined) {
      const asking = this.#ask(name, rest, typed);
      ofAll = asking.then(
        ({ config, files: read }) => (this.#areOfAll(read) ? config : undefined),
        () => undefined,
      );
      this.#ofAll.set(key, ofAll);
      if (port === undefined) return (await asking).config;
    }
    const known = await ofAll;
    return known === undefined ? (await this.#ask(name, spec, typed)).config : forHost(known, typed, port);
  }

  /** Runs ssh for one host. Returns its settings, and the files that ssh read. */
  async #ask(
    name: string,
    spec: SshSpec,
    typed: string,
  ): Promise<{ readonly config: SshConfig; readonly files: readonly string[] }> {
    const [output, defaults] = await Promise.all([
      this.#dump(name, inventoryArguments(spec), typed),
      (this.#defaults ??= this.#dump(name, ['-F', 'none'], 'localhost').catch((error: unknown) => {
        this.#defaults = undefined;
        throw error;
      })),
    ]);
    if (output === undefined || defaults === undefined) return { config: noConfig, files: [] };
    const { dump, files } = output;
    const config: SshConfig = {
      options: dump,
      defaults: defaults.dump,
      unset: await this.#unset(name, spec, typed, output),
      places: (keywords) => this.#places(files, keywords),
    };
    return { config, files };
  }

  /**
   * Returns which options no file sets. If a file may set ssh's default, ssh runs again with our defaults below its
   * files.
   */
  async #unset(
    name: string,
    spec: SshSpec,
    typed: string,
    { dump, files }: SshOutput,
  ): Promise<SshConfig['unset']> {
    const asDefault = (option: string, value: string): boolean => dump.get(option)?.[0] === value;
    const strictness = asDefault('stricthostkeychecking', 'ask');
    const keepAlive = asDefault('serveraliveinterval', '0');
    const doubtful =
      (strictness && this.#mentions(files, 'stricthostkeychecking')) ||
      (keepAlive && this.#mentions(files, 'serveraliveinterval'));
    if (!doubtful) return { strictness, keepAlive };
    const sshConfig = this.#defaultsBelow.path(spec.sshConfig);
    const below = await this.#dump(name, inventoryArguments({ ...spec, sshConfig }), typed);
    const left = (option: string): string | undefined => below?.dump.get(option)?.[0];
    return {
      strictness: strictness && left('stricthostkeychecking') !== 'ask',
      keepAlive: keepAlive && left('serveraliveinterval') !== '0',
    };
  }

  /** Runs `ssh -G`. Returns undefined if ssh is not installed. Throws if it fails. */
  async #dump(name: string, args: readonly string[], typed: string): Promise<SshOutput | undefined> {
    const all = ['-T', '-v', ...args, '-G', '--', typed];
    const byHand = this.#withOwnName([...args, '-G', typed].map(quote).join(' '));
    const run = (args: readonly string[]): Promise<Answer> =>
      this.#limit(() => runSsh(args, this.#parts.env, this.#stop.signal));
    const first = await run(all);
    // With ForkAfterAuthentication, ssh wants a command; with RemoteCommand, it would refuse one.
    const wantsCommand = first.kind === 'refused' && /^Cannot fork into background/m.test(first.stderr);
    const answer = wantsCommand ? await run([...all, 'true']) : first;
    if (answer.kind === 'output') return { dump: parseDump(answer.stdout), files: filesRead(answer.stderr) };
    if (answer.kind === 'refused')
      throw noAnswer(name, { ...answer, stderr: this.#withOwnName(answer.stderr) }, byHand);
    if (answer.kind !== 'no-ssh') throw noAnswer(name, answer, byHand);
    if (!this.#reportedNoSsh)
      this.#parts.notice('ssh is not installed: only the inventory is used, not the SSH configuration');
    this.#reportedNoSsh = true;
    return undefined;
  }

  /** Replaces the name of our copy by ~/.ssh/config, for messages. */
  #withOwnName(text: string): string {
    const file = this.#withoutOurSettings;
    return file === undefined
      ? text
      : text.replaceAll(`-F ${quote(file)} `, '').replaceAll(file, `${this.#parts.home}/.ssh/config`);
  }

  #usualFiles(): readonly string[] {
    return [`${this.#parts.home}/.ssh/config`, systemFile].filter((file) => existsSync(file));
  }

  /** Returns whether the files have the same settings for every host. */
  #areOfAll(files: readonly string[]): boolean {
    return files.every((file) => !ofOneHost.test(this.#text(file)));
  }

  /** Returns whether one of the files contains an option. */
  #mentions(files: readonly string[], option: string): boolean {
    return files.some((file) => this.#text(file).includes(option));
  }

  /** Returns `FILE:LINE` of each line of the files that sets one of the keywords. */
  #places(files: readonly string[], keywords: readonly string[]): readonly string[] {
    return files.flatMap((file) =>
      this.#text(file)
        .split('\n')
        .flatMap((line, index) => {
          const [, keyword = ''] = /^\s*"?([a-z0-9]+)["\s=]/.exec(line) ?? [];
          return keywords.includes(keyword) ? [`${this.#withOwnName(file)}:${index + 1}`] : [];
        }),
    );
  }

  #text(file: string): string {
    const known = this.#texts.get(file);
    if (known !== undefined) return known;
    let text = '';
    try {
      text = readFileSync(file, 'utf8').toLowerCase();
    } catch {
      // The file has changed since ssh read it.
    }
    this.#texts.set(file, text);
    return text;
  }
}

/** Returns the settings of another host that has the same ones, and perhaps a port in the inventory. */
function forHost(config: SshConfig, typed: string, port: number | undefined): SshConfig {
  if (config === noConfig) return config;
  const options = new Map(config.options);
  for (const option of ['host', 'hostname']) if (options.has(option)) options.set(option, [typed]);
  if (port !== undefined) options.set('port', [String(port)]);
  return { ...config, options };
}
