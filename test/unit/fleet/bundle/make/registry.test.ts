import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { digestName, loginOf } from '../../../../../src/fleet/bundle/make/registry.ts';

const digest = 'a'.repeat(64);

it.each([
  ['x', 'docker.io', 'registry-1.docker.io', 'library/x'],
  ['docker.io/x', 'docker.io', 'registry-1.docker.io', 'library/x'],
  ['nvidia/cuda:13', 'docker.io', 'registry-1.docker.io', 'nvidia/cuda'],
  ['index.docker.io/nvidia/cuda', 'docker.io', 'registry-1.docker.io', 'nvidia/cuda'],
  ['registry.lab/x', 'registry.lab', 'registry.lab', 'x'],
  ['registry.lab:5000/team/x/y:1.2', 'registry.lab:5000', 'registry.lab:5000', 'team/x/y'],
  ['localhost/x', 'localhost', 'localhost', 'x'],
])('%s by its digest', (named, registry, address, repository) => {
  expect(digestName(`${named}@sha256:${digest}`)).toEqual({ registry, address, repository, digest });
  expect(digestName(named)).toBeUndefined();
});

const folder = mkdtempSync(join(tmpdir(), 'logins-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A credential helper like Docker's: a name on stdin, JSON on stdout, an error for unknown names. */
writeFileSync(
  join(folder, 'docker-credential-lab'),
  `#!/bin/sh
[ "$1" = get ] || exit 2
[ -z "$A_TOKEN" ] || exit 3
read -r name
case $name in
  helped.lab) echo '{"ServerURL":"helped.lab","Username":"u","Secret":"s"}' ;;
  token.lab) echo '{"ServerURL":"token.lab","Username":"<token>","Secret":"refresh"}' ;;
  *) echo 'credentials not found in native keychain'; exit 1 ;;
esac
`,
);
chmodSync(join(folder, 'docker-credential-lab'), 0o755);

const env = { DOCKER_CONFIG: folder, PATH: `${folder}:/usr/bin:/bin`, A_TOKEN: 'is not handed on' };
const auth = (text: string): { auth: string } => ({ auth: Buffer.from(text).toString('base64') });
const auths = {
  'registry.lab': auth('ci:pass:word'),
  'https://old.lab': auth('ci:old'),
  'https://index.docker.io/v1/': auth('hub:secret'),
  'acr.lab': { ...auth('0000:'), identitytoken: 'refresh-2' },
  'empty.lab': {},
};

it.each([
  ['registry.lab', 'ci pass:word'],
  ['old.lab', 'ci old'],
  ['docker.io', 'hub secret'],
  ['acr.lab', 'token refresh-2'],
  ['helped.lab', 'u s'],
  ['token.lab', 'token refresh'],
  ['empty.lab', undefined],
  ['unknown.lab', undefined],
])('docker login for %s', async (registry, known) => {
  const config = { auths, credHelpers: { 'helped.lab': 'lab', 'token.lab': 'lab', 'empty.lab': 'none' } };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const login = await loginOf(registry, env);
  const shown =
    login?.kind === 'token'
      ? `token ${login.token.reveal()}`
      : login && `${login.user} ${login.password.reveal()}`;
  expect(shown).toBe(known);
  expect(JSON.stringify(login ?? '')).not.toMatch(/secret|refresh|pass:word/);
});

it.each(['', 'no JSON', '{"auths": 7}', '{"credsStore": "../../bin/sh"}'])(
  'has no login in a file with %j',
  async (text) => {
    writeFileSync(join(folder, 'config.json'), text);
    expect(await loginOf('registry.lab', env)).toBeUndefined();
  },
);
