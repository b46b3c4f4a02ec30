import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { runCommand } from '../../../support/command.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../../src/fleet/artifacts/load.ts', async (original) => {
  const { desiredOf } = await import('../../../support/host.ts');
  return { ...(await original<object>()), loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-bundle-command-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(() => {
  writeFileSync(
    join(folder, 'inventory.yaml'),
    'organization: https://dev.azure.com/lab\ntoken: { env: NO_SUCH }\nhosts: { a: { pool: p, address: 127.0.0.1, port: 9 } }\n',
  );
  writeFileSync(join(folder, 'text.bundle'), 'no bundle\n'.repeat(300));
});

const bundle = (...args: readonly string[]) => runCommand(['bundle', ...args], { cwd: folder });

describe('azp-fleet bundle', () => {
  it.each([
    ['no file', [], 'no bundle file'],
    ['two files', ['-o', 'a', '--show', 'b'], 'no bundle file'],
    ['an unknown system', ['-o', 'x', '--for', 'plan9-4'], '--for names a system that is not supported'],
    ['an unknown architecture', ['-o', 'x', '--for', 'debian-12/riscv64'], '--for names a system'],
    [
      'a kernel that is none',
      ['-o', 'x', '--for', 'debian-12', '--kernel', '$(id)'],
      '--kernel is not a kernel release',
    ],
    ['kernels of hosts that are read', ['-o', 'x', '--kernel', '6.1.0-50-amd64'], '--kernel needs --for'],
    ['a missing folder', ['-o', 'no/x'], 'cannot be written'],
    ['a file that is not a bundle', ['--show', 'text.bundle'], 'is not a bundle'],
    ['a missing file', ['--show', 'none'], 'cannot be read'],
  ])('refuses %s before anything is done', async (_, args, what) => {
    const { exitCode, stderr } = await bundle(...args);
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(what);
  });

  it('creates none if a host cannot be read, with a next action', async () => {
    const { exitCode, stderr } = await bundle('-o', 'x');
    expect(exitCode).toBe(1);
    const message = stderr.replaceAll(/\s+/g, ' ');
    expect(message).toContain('no bundle created: cannot read a');
    expect(message).toContain('--for debian-12/x86_64');
  });
});

it.each(['plan', 'provision'])(
  '%s refuses a file that is not a bundle before a host is reached',
  async (verb) => {
    const env = { NO_SUCH: 'a-token' };
    const { exitCode, stderr } = await runCommand([verb, '--bundle', 'text.bundle'], { cwd: folder, env });
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('text.bundle is not a bundle');
    expect(stderr).not.toContain('127.0.0.1');
  },
);
