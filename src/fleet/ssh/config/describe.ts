import type { ConnectionOptions } from './connection-options.ts';

/**
 * What a connection would use, by the names and in the notation of `ssh -G` (identityfile, the known-hosts files and the
 * algorithms as lists), and under `from` where each value came from: `inventory`, `ssh` (its configuration says something
 * else than the default) or `default`. Options that are not in effect are left out.
 */
export interface ConnectionDescription {
  readonly [option: string]: string | number | readonly string[] | Readonly<Record<string, string>>;
  readonly from: Readonly<Record<string, 'inventory' | 'ssh' | 'default'>>;
}

/** For `inventory show`. */
export function describeConnection(options: ConnectionOptions): ConnectionDescription {
  const { algorithms } = options;
  const values: Record<string, string | number | readonly string[] | undefined> = {
    hostname: options.hostname,
    port: options.port,
    user: options.user,
    identityfile: options.identityFiles,
    identitiesonly: yesNo(options.identitiesOnly),
    identityagent: options.agent,
    proxyjump: options.jump.length > 0 ? options.jump.join(',') : undefined,
    proxycommand: options.proxyCommand,
    userknownhostsfile: orNone(options.userKnownHosts),
    globalknownhostsfile: orNone(options.globalKnownHosts),
    addressfamily: options.family === undefined ? undefined : options.family === 4 ? 'inet' : 'inet6',
    bindaddress: options.bindAddress,
    hostkeyalias: options.hostKeyAlias,
    stricthostkeychecking: strictness(options),
    hashknownhosts: yesNo(options.hashKnownHosts),
    connecttimeout: options.connectTimeoutMs / 1000,
    serveraliveinterval: options.aliveIntervalMs / 1000,
    serveralivecountmax: options.aliveCountMax,
    ciphers: algorithms.ciphers,
    kexalgorithms: algorithms.kex,
    macs: algorithms.macs,
    hostkeyalgorithms: algorithms.hostKey,
    ...Object.fromEntries(options.unsupported.map((option) => [option, 'only with transport: openssh'])),
  };
  const set = Object.entries(values).filter(
    (entry): entry is [string, string | number | readonly string[]] => entry[1] !== undefined,
  );
  const from = Object.fromEntries(set.map(([option]) => [option, origin(options, option)]));
  return { ...Object.fromEntries(set), from };
}

function origin(options: ConnectionOptions, option: string): 'inventory' | 'ssh' | 'default' {
  // The host's name, or its address, is the inventory's.
  const same = options.hostname === options.typed.toLowerCase();
  if (options.ofInventory.has(option) || (option === 'hostname' && same)) return 'inventory';
  // ssh's default is to ask; where a file says so as well, it is the file's.
  const asked = option === 'stricthostkeychecking' && options.hostKeyPolicy === 'ask';
  return asked || options.ofSsh.has(option) ? 'ssh' : 'default';
}

function strictness({ hostKeyPolicy, pinned }: ConnectionOptions): string {
  return hostKeyPolicy === 'strict' || pinned.length > 0 ? 'true' : hostKeyPolicy;
}

function orNone(files: readonly string[]): readonly string[] {
  return files.length === 0 ? ['none'] : files;
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
