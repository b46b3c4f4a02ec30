import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';

import { FleetError } from '../../shared/base/errors.ts';
import { childEnvironment } from './child-environment.ts';
import { npmEnvironment, type NpmSite } from './npm-environment.ts';
import { nodeVersion, runtimePin, type RuntimePin } from './runtime.ts';

const run = promisify(execFile);

export interface FetchOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
  /** What the inventory says of the network. */
  readonly site: NpmSite;
}

/**
 * Makes sure that the compressed runtime for `arch` lies at `target`: found in node_modules, or fetched with
 * `npm pack`. Either way the binary must have the pinned sha256; the file appears under its name only when it has.
 */
export async function fetchRuntime(arch: string, target: string, options: FetchOptions): Promise<void> {
  const pin = runtimePin(arch);
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

/** A clone has the package already when the CLI itself runs on it. */
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
    next: 'check which registry npm uses; a damaged download is cured by running again',
  });
}
