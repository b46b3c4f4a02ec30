import type { ConnectionOptions } from './resolve.ts';

/**
 * What a connection would use, by the names and in the notation of `ssh -G` (`identityfile` and the
 * known-hosts files as lists), and under `from` where each value came from: `inventory`, `FILE:LINE`,
 * `argument` (the name itself) or `default`. Options that are not in effect are left out, as ssh does.
 */
export interface ConnectionDescription {
  readonly [option: string]: string | number | readonly string[] | Readonly<Record<string, string>>;
  readonly from: Readonly<Record<string, string>>;
}

/** For `inventory show`. */
export function describeConnection(options: ConnectionOptions): ConnectionDescription {
  const { algorithms, raw } = options;
  const jump = options.jump.length > 0 ? options.jump.join(',') : undefined;
  const values: Record<string, string | number | readonly string[] | undefined> = {
    hostname: options.hostname,
    port: options.port,
    user: options.user,
    identityfile: options.identitiesNamed
      ? (raw.get('identityfile') ?? []).flatMap((value) => value.args)
      : options.identityFiles,
    identitiesonly: yesNo(options.identitiesOnly),
    identityagent: agent(options),
    proxyjump: jump,
    proxycommand: options.proxyCommand === undefined ? undefined : raw.get('proxycommand')?.[0]?.args[0],
    userknownhostsfile: orNone(options.userKnownHosts),
    globalknownhostsfile: orNone(options.globalKnownHosts),
    addressfamily: raw.get('addressfamily')?.[0]?.args[0]?.toLowerCase(),
    bindaddress: options.bindAddress,
    hostkeyalias: options.hostKeyAlias,
    stricthostkeychecking: isStrict(options) ? 'true' : 'accept-new',
    hashknownhosts: yesNo(options.hashKnownHosts),
    connecttimeout: options.connectTimeoutMs / 1000,
    serveraliveinterval: options.aliveIntervalMs / 1000,
    serveralivecountmax: options.aliveCountMax,
    ciphers: algorithms.ciphers,
    kexalgorithms: algorithms.kex,
    macs: algorithms.macs,
    hostkeyalgorithms: algorithms.hostKey,
    ...Object.fromEntries(
      options.unsupported.map(({ option }) => [option, raw.get(option)?.[0]?.args.join(' ')]),
    ),
  };
  const set = Object.entries(values).filter(
    (entry): entry is [string, string | number | readonly string[]] => {
      return entry[1] !== undefined;
    },
  );
  const from = Object.fromEntries(set.map(([option]) => [option, place(options, option)]));
  return { ...Object.fromEntries(set), from };
}

function place(options: ConnectionOptions, option: string): string {
  if (option === 'stricthostkeychecking' && isStrict(options) && !configuredStrict(options))
    return 'inventory';
  const known = options.raw.get(option)?.map((value) => value.from);
  if (known !== undefined) return [...new Set(known)].join(', ');
  if (option === 'hostname') return options.typed === options.name ? 'argument' : 'inventory';
  return 'default';
}

/** Nothing new is accepted, be it for keys pinned in the inventory. */
function isStrict({ hostKeyPolicy, pinned }: ConnectionOptions): boolean {
  return hostKeyPolicy === 'strict' || pinned.length > 0;
}

function configuredStrict({ raw }: ConnectionOptions): boolean {
  return /^(yes|true)$/i.test(raw.get('stricthostkeychecking')?.[0]?.args[0] ?? '');
}

/** As written where it names something else than a path. */
function agent({ raw, agent: socket }: ConnectionOptions): string | undefined {
  const written = raw.get('identityagent')?.[0]?.args[0];
  return written === undefined || /^(none|SSH_AUTH_SOCK|\$.*)$/.test(written) ? written : socket;
}

function orNone(files: readonly string[]): readonly string[] {
  return files.length === 0 ? ['none'] : files;
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
