import { expect, test } from 'vitest';
import type { Context } from '../../../../src/shared/base/context.ts';
import { Redactor } from '../../../../src/shared/base/redact.ts';
import { resolveWebhooks } from '../../../../src/cli/run/secrets.ts';
import { secretVariables } from '../../../../src/fleet/inventory/secret.ts';
import { fleet } from '../../fleet/inventory/fixture.ts';

const text = (url: string): string =>
  `defaults: { pool: p, webhook: { url: ${url} } }\nhosts: { a: {}, b: {}, c: { webhook: none } }\n`;

function contextWith(env: Record<string, string>) {
  const redactor = new Redactor();
  const log = { log: () => undefined, redact: redactor.add.bind(redactor) };
  const context = { env, cwd: '/', log, stdin: {}, stderr: { write: () => true } } as unknown as Context;
  return { context, redactor };
}

test('each host has its address, which is redacted; unused ones are not read', async () => {
  const desired = fleet(text('{ env: HOOK }'));
  const { context, redactor } = contextWith({ HOOK: 'https://hooks.lab.example/s3cret' });
  const found = await resolveWebhooks(context, desired, desired.hosts);
  expect([...found].map(([host, secret]) => [host, secret.reveal()])).toEqual([
    ['a', 'https://hooks.lab.example/s3cret'],
    ['b', 'https://hooks.lab.example/s3cret'],
  ]);
  expect(redactor.text('see https://hooks.lab.example/s3cret')).toBe('see ***');
  expect(secretVariables(desired)).toContain('HOOK');
  expect([...(await resolveWebhooks(contextWith({}).context, desired, []))]).toEqual([]);
});

test('a shared source is read once', async () => {
  const desired = fleet(text('{ cmd: "date +https://hooks.lab.example/%N" }'));
  const found = await resolveWebhooks(
    contextWith({ PATH: process.env['PATH'] ?? '' }).context,
    desired,
    desired.hosts,
  );
  const [a, b] = [...found.values()];
  expect(a?.reveal()).toBe(b?.reveal());
});

test.each([
  'hooks.lab.example/s3cret',
  'ftp://hooks.lab.example/s3cret',
  'https://hooks.lab.example/s3cret two',
])('an invalid address is refused before any host is contacted, and not shown: %s', async (value) => {
  const desired = fleet(text('{ env: HOOK }'));
  const { context } = contextWith({ HOOK: value });
  const error: unknown = await resolveWebhooks(context, desired, desired.hosts).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({
    exitCode: 2,
    problem: {
      code: 'inventory.secret',
      what: 'the webhook of a is not an HTTP(S) URL',
      next: 'check the variable HOOK',
    },
  });
  expect(JSON.stringify(error)).not.toContain('s3cret');
});
