import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import zlib, { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';

import { childEnvironment } from '../../../../src/fleet/artifacts/child-environment.ts';
import { fetchRuntime, loadedPart, runtimeArtifact } from '../../../../src/fleet/artifacts/node-runtime.ts';
import { fromNetwork } from '../../../../src/fleet/artifacts/upload-sources.ts';
import type { FileArtifact } from '../../../../src/fleet/steps/change.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-artifacts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A stand-in for npm on a separate PATH: `npm pack` runs the script. */
function withNpm(script: string) {
  const bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return {
    env: { PATH: `${bin}:/usr/bin:/bin` },
    signal: new AbortController().signal,
    note: () => undefined,
    site: { proxy: { noProxy: [] }, caPem: undefined, registry: undefined },
  };
}

/** A program of one loaded segment, with its header and segment table in it, and something behind it. */
function elf(code: string, behind: string): Buffer {
  const head = Buffer.alloc(64 + 56);
  const [table, size] = [64, head.length + code.length];
  head.writeBigUInt64LE(BigInt(table), 32);
  head.writeBigUInt64LE(BigInt(size), 40);
  for (const [at, value] of [
    [54, 56],
    [56, 1],
    [60, 3],
    [62, 2],
    [table, 1],
  ] as const)
    head.writeUInt16LE(value, at);
  head.writeBigUInt64LE(BigInt(size), table + 32);
  return Buffer.concat([head, Buffer.from(code), Buffer.from(behind)]);
}

/** The runtime of an architecture that no clone has installed. */
function missing(name: string): FileArtifact {
  const runtime = runtimeArtifact(folder, 'aarch64', false);
  if (runtime === undefined) throw new Error('no runtime');
  return { ...runtime, file: join(folder, name) };
}

describe('the environment of the programs that the CLI starts', () => {
  it('has only the variables that they need, and no token', () => {
    expect(
      childEnvironment({
        PATH: '/bin',
        HOME: '/home/ann',
        HTTPS_PROXY: 'http://proxy:3128',
        npm_config_registry: 'https://npm.example',
        AZP_TOKEN: 'secret',
        MY_PAT: 'secret',
        SSH_AUTH_SOCK: '/tmp/agent',
      }),
    ).toEqual({
      PATH: '/bin',
      HOME: '/home/ann',
      HTTPS_PROXY: 'http://proxy:3128',
      npm_config_registry: 'https://npm.example',
    });
  });
});

describe('the Node runtime for the hosts', () => {
  it('is named by its content, and exists for two architectures', () => {
    expect(runtimeArtifact('/cache', 'aarch64', false)).toMatchObject({
      file: '/cache/node-v24.21.0-1846f49bc589.gz',
      gunzip: true,
    });
    expect(runtimeArtifact('/cache', 'ppc64le', false)).toBeUndefined();
  });

  it('is created in the cache only, whatever path a saved plan names', async () => {
    const [cache, outside] = [join(folder, 'own-cache'), join(folder, 'outside')];
    const runtime = runtimeArtifact(outside, 'x86_64', false);
    if (runtime === undefined) throw new Error('no runtime');
    mkdirSync(cache);
    // It exists, so that nothing is fetched.
    writeFileSync(join(cache, basename(runtime.file)), '');
    const { prepare } = await fromNetwork({ ...withNpm('exit 1'), cache, folders: [], now: 0 });
    await prepare({ ...runtime, file: `${cache}/../outside/${basename(runtime.file)}` });
    expect(existsSync(outside)).toBe(false);
  });

  it('is smaller for a host that has zstd, where this Node can compress with it', () => {
    const can = typeof zlib.createZstdCompress === 'function';
    const file = runtimeArtifact('/cache', 'x86_64', true)?.file;
    expect(file).toBe(`/cache/node-v24.21.0-96b0d10c4f04.${can ? 'zst' : 'gz'}`);
  });

  it('keeps what the kernel loads of a program, and no section table', () => {
    const loaded = loadedPart(elf('code', 'symbols'));
    expect(loaded.toString('latin1', 64)).toMatch(/code$/);
    expect([loaded.readBigUInt64LE(40), loaded.readUInt16LE(60), loaded.readUInt16LE(62)]).toEqual([
      0n,
      0,
      0,
    ]);
  });

  it('still runs without the rest', () => {
    const file = join(folder, 'loaded-node');
    writeFileSync(file, loadedPart(readFileSync(process.execPath)), { mode: 0o755 });
    const { stdout } = spawnSync(file, ['-p', '6 * 7'], { encoding: 'utf8' });
    expect(stdout).toBe('42\n');
  });

  describe('from the registry', () => {
    const tarball = join(folder, 'node.tgz');
    mkdirSync(join(folder, 'package/bin'), { recursive: true });
    const program = elf('not node', 'its symbols');
    writeFileSync(join(folder, 'package/bin/node'), program);
    spawnSync('tar', ['-czf', tarball, '-C', folder, 'package']);
    const sha = (algorithm: string, file: string) => createHash(algorithm).update(readFileSync(file));
    const right = {
      package: 'node-linux-test',
      integrity: `sha512-${sha('sha512', tarball).digest('base64')}`,
      sha256: sha('sha256', join(folder, 'package/bin/node')).digest('hex'),
      loaded: { sha256: sha256(loadedPart(Buffer.from(program))), size: 0 },
    };
    const fetched = async (pin: typeof right, form: Partial<FileArtifact> = { gunzip: true }) => {
      const target = join(mkdtempSync(join(folder, 'cache-')), 'cache/node.packed');
      const npm = withNpm(`cp ${tarball} node-linux-test-24.21.0.tgz`);
      const runtime = { kind: 'file', file: target, gunzip: false, ...pin.loaded, ...form } as const;
      await fetchRuntime(runtime, npm, [pin]).catch((error: unknown) => {
        expect(readdirSync(dirname(target))).toEqual([]);
        throw error;
      });
      return readFileSync(target);
    };

    it('is compressed into the cache, without its symbols', async () => {
      expect(gunzipSync(await fetched(right))).toEqual(loadedPart(Buffer.from(program)));
      if (typeof zlib.zstdDecompressSync !== 'function') return;
      const packed = await fetched(right, { unzstd: true });
      expect(zlib.zstdDecompressSync(packed)).toEqual(loadedPart(Buffer.from(program)));
    });

    it.each([
      ['tarball', { ...right, integrity: 'sha512-other' }],
      ['binary in it', { ...right, sha256: '0'.repeat(64) }],
    ])('is refused when the %s differs from the pin', async (_part, pin) => {
      await expect(fetched(pin)).rejects.toMatchObject({ problem: { code: 'artifact.integrity' } });
    });
  });

  it('is fetched through the proxy, from the mirror and with the certificates of the inventory', async () => {
    const own = join(folder, 'own.pem');
    writeFileSync(own, 'OWN');
    const npm = withNpm(
      'echo "$https_proxy $HTTP_PROXY $no_proxy $npm_config_registry $(tr "\\n" " " <"$NODE_EXTRA_CA_CERTS")" >&2; exit 1',
    );
    const site = {
      proxy: { http: 'http://p:1', https: 'http://p:2', noProxy: ['localhost', '.lab'] },
      caPem: 'SITE',
      registry: 'https://npm.lab',
    };
    const env = { ...npm.env, https_proxy: 'http://of-the-shell:3', NODE_EXTRA_CA_CERTS: own };
    const fetched = fetchRuntime(missing('site/node.gz'), { ...npm, env, site });
    await expect(fetched).rejects.toMatchObject({
      problem: { seen: 'http://p:2 http://p:1 localhost,.lab https://npm.lab OWN SITE' },
    });
  });

  it('reports npm’s error without a registry', async () => {
    const npm = withNpm('echo "npm error network ENOTFOUND registry" >&2; exit 1');
    await expect(fetchRuntime(missing('none/node.gz'), npm)).rejects.toMatchObject({
      problem: { code: 'artifact.runtime-unavailable', seen: 'npm error network ENOTFOUND registry' },
    });
  });
});
