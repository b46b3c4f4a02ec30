import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FleetError } from '../../../../src/shared/base/errors.ts';
import type { Logger } from '../../../../src/shared/base/log.ts';
import { Redactor } from '../../../../src/shared/base/redact.ts';
import { registriesText } from '../../../../src/shared/contract/registries.ts';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { causeOf } from '../../../../src/manager/causes.ts';
import { registryReader, withRegistries } from '../../../../src/manager/image/engine.ts';
import { journalLogger } from '../../../../src/manager/start/reporting.ts';
import { StandInEngine } from '../../../support/docker/engine.ts';

const password = 'correct-horse-battery';
const file = join(mkdtempSync(join(tmpdir(), 'registries-')), 'registries');
let docker: StandInEngine;
let engine: Engine;
let log: Logger;
const written: string[] = [];

beforeEach(async () => {
  docker = await new StandInEngine().start();
  writeLogins({
    'registry.lab:5000': { user: 'ci', secret: password },
    'docker.io': { user: 'hub', secret: 'other-word' },
  });
  log = journalLogger((line) => written.push(line), true, new Redactor());
  engine = withRegistries(createEngine({ socketPath: docker.socketPath }), registryReader(file, log));
});
afterEach(async () => {
  await docker.close();
  rmSync(file, { force: true });
});

function writeLogins(logins: Parameters<typeof registriesText>[0]): void {
  writeFileSync(file, registriesText(logins));
  chmodSync(file, 0o600);
}

/** A header of the last request to the path, decoded. */
function header(path: string, name: string): unknown {
  const call = docker.calls.findLast((each) => each.path === path);
  const value = call?.headers[name];
  return typeof value === 'string' ? JSON.parse(Buffer.from(value, 'base64url').toString()) : undefined;
}

const build = (): Promise<string> =>
  engine.build(Buffer.alloc(0), {
    tag: 'azp-fleet/agent:1',
    args: { BASE: 'registry.lab:5000/base:1' },
    labels: {},
  });

describe('the password of a registry', () => {
  test('is sent with a pull from it, in a header of that request only', async () => {
    await engine.pull('registry.lab:5000/team/agent:7');
    expect(header('/images/create', 'x-registry-auth')).toEqual({
      username: 'ci',
      password,
      serveraddress: 'registry.lab:5000',
    });
    expect(docker.calls.map(({ url }) => url).join('\n')).not.toContain(password);
    await engine.pull('another.lab/agent:7');
    expect(header('/images/create', 'x-registry-auth')).toBeUndefined();
  });

  test('of docker.io is sent for images without a registry name', async () => {
    await engine.pull('nvidia/cuda:13');
    expect(header('/images/create', 'x-registry-auth')).toMatchObject({
      username: 'hub',
      serveraddress: 'https://index.docker.io/v1/',
    });
  });

  test('is sent with a build, for its base images', async () => {
    await build();
    expect(header('/build', 'x-registry-config')).toEqual({
      'registry.lab:5000': { username: 'ci', password },
      'https://index.docker.io/v1/': { username: 'hub', password: 'other-word' },
    });
    expect(docker.calls.map(({ url }) => url).join('\n')).not.toContain(password);
  });

  test('is read again for each pull, and is optional', async () => {
    writeLogins({ 'registry.lab:5000': { user: 'ci', secret: 'a new one' } });
    await engine.pull('registry.lab:5000/team/agent:7');
    expect(header('/images/create', 'x-registry-auth')).toMatchObject({ password: 'a new one' });
    rmSync(file);
    await engine.pull('registry.lab:5000/team/agent:7');
    expect(header('/images/create', 'x-registry-auth')).toBeUndefined();
  });

  test('that is wrong is reported with registry, user and image, but never printed', async () => {
    docker.fail(/images\/create/, 500, `unauthorized: authentication required (${password})`);
    const error = await engine
      .pull('registry.lab:5000/team/agent:7')
      .catch((each: unknown) => each as FleetError);
    expect(error).toMatchObject({
      problem: {
        code: 'registry.password',
        what: 'registry.lab:5000 rejected the password of user ci: registry.lab:5000/team/agent:7',
      },
    });
    log.log('warn', 'pull failed', { ...causeOf(error) });
    expect(written.join('')).toContain('unauthorized: authentication required (***)');
    expect(written.join('\n')).not.toContain(password);
  });

  test('that the base of a build needs is reported as missing', async () => {
    rmSync(file);
    docker.failedBuild = [
      { stream: 'Step 2/9 : FROM ${BASE} AS agent\n' },
      { error: 'Head "https://registry.lab:5000/v2/": no basic auth credentials' },
    ];
    await expect(build()).rejects.toMatchObject({
      problem: {
        code: 'registry.password',
        what: 'registry.lab:5000 requires a login, and the inventory has none: registry.lab:5000/base:1',
      },
    });
  });

  test('is not blamed for a failed step of a build', async () => {
    docker.failedBuild = [
      { stream: 'Step 5/9 : RUN curl https://example.com\n' },
      { stream: 'curl: (7) connection refused\n' },
      { error: "The command '/bin/sh -c curl' returned a non-zero code: 7" },
    ];
    await expect(build()).rejects.toMatchObject({ problem: { code: 'engine.failed' } });
  });

  test('in an unreadable file stops the pull, and the error names the file', async () => {
    writeFileSync(file, '{');
    await expect(engine.pull('registry.lab:5000/a')).rejects.toMatchObject({
      problem: { code: 'manager.registries', what: expect.stringContaining(file) as string },
    });
  });
});
