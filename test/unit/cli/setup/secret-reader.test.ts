import { expect, test } from 'vitest';

import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { Secret } from '../../../../src/shared/base/secret.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import { secretReader } from '../../../../src/cli/setup/secrets.ts';
import { quietContext } from '../../../support/command.ts';

const env = {
  AZP_TOKEN: 'one',
  AZURE_DEVOPS_EXT_PAT: 'two',
  MY_PAT: 'three',
  SUDO_PASSWORD: 'four',
  LAB: 'five-and-more',
  NAMED: 'six',
  CLOUD_ACCESS_TOKEN: 'of a ProxyCommand',
  PATH: '/usr/bin:/bin',
};

function reader() {
  const hidden: string[] = [];
  const { context } = quietContext({ cwd: '/', env });
  const log = { ...silentLogger, redact: (secret: Secret) => void hidden.push(secret.reveal()) };
  return { hidden, ...secretReader({ ...context, log }, () => Promise.resolve('')) };
}

test('child processes inherit neither likely nor named secrets', async () => {
  const { read, environment } = reader();
  expect(Object.keys(environment())).toEqual(['LAB', 'NAMED', 'CLOUD_ACCESS_TOKEN', 'PATH']);
  await read({ env: 'NAMED' }, 'the token');
  expect(Object.keys(environment())).toEqual(['LAB', 'CLOUD_ACCESS_TOKEN', 'PATH']);
});

test('the secrets of an existing inventory are redacted before any connection', () => {
  const { know, environment, hidden } = reader();
  const text =
    'organization: https://dev.azure.com/example\ntoken: { env: LAB }\nhosts: { one: { pool: p } }\n';
  know(parseFleet(text, 'lab.yaml', { cwd: '/', env, home: '/' }));
  expect(environment()).not.toHaveProperty('LAB');
  expect(hidden).toEqual(['five-and-more']);
});
