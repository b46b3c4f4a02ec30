import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';

import { childEnvironment } from '../../../../src/fleet/artifacts/child-environment.ts';
import { fetchRuntime, runtimeArtifact } from '../../../../src/fleet/artifacts/node-runtime.ts';

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
    expect(runtimeArtifact('/cache', 'aarch64')).toMatchObject({
      file: '/cache/node-v24.21.0-0f8949d1028f.gz',
      gunzip: true,
    });
    expect(runtimeArtifact('/cache', 'ppc64le')).toBeUndefined();
  });

  describe('from the registry', () => {
    const tarball = join(folder, 'node.tgz');
    mkdirSync(join(folder, 'package/bin'), { recursive: true });
    writeFileSync(join(folder, 'package/bin/node'), 'not node');
    spawnSync('tar', ['-czf', tarball, '-C', folder, 'package']);
    const sha = (algorithm: string, file: string) => createHash(algorithm).update(readFileSync(file));
    const right = {
      package: 'node-linux-test',
      integrity: `sha512-${sha('sha512', tarball).digest('base64')}`,
      sha256: sha('sha256', join(folder, 'package/bin/node')).digest('hex'),
      size: 8,
    };
    const fetched = async (pin: typeof right) => {
      const target = join(mkdtempSync(join(folder, 'cache-')), 'cache/node.gz');
      const npm = withNpm(`cp ${tarball} node-linux-test-24.21.0.tgz`);
      await fetchRuntime('test', target, npm, pin).catch((error: unknown) => {
        expect(readdirSync(dirname(target))).toEqual([]);
        throw error;
      });
      return gunzipSync(readFileSync(target)).toString();
    };

    it('is compressed into the cache', async () => {
      expect(await fetched(right)).toBe('not node');
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
    const fetched = fetchRuntime('aarch64', join(folder, 'site/node.gz'), { ...npm, env, site });
    await expect(fetched).rejects.toMatchObject({
      problem: { seen: 'http://p:2 http://p:1 localhost,.lab https://npm.lab OWN SITE' },
    });
  });

  it('reports npm’s error without a registry', async () => {
    const npm = withNpm('echo "npm error network ENOTFOUND registry" >&2; exit 1');
    await expect(fetchRuntime('aarch64', join(folder, 'none/node.gz'), npm)).rejects.toMatchObject({
      problem: { code: 'artifact.runtime-unavailable', seen: 'npm error network ENOTFOUND registry' },
    });
  });
});
