// Every command with --json, as a user runs it: against the fake server, and a host on whose port nobody listens.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';

import type { CommandSpec } from '../../../src/cli/command.ts';
import { commands } from '../../../src/cli/commands.ts';
import { runCommand } from '../../support/command.ts';
import { useFake } from '../azure/fake/server.ts';

// What is uploaded is built beforehand, or not at all where only these tests run.
vi.mock('../../../src/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const fake = useFake();
const elsewhere = mkdtempSync(join(tmpdir(), 'azp-json-'));
afterAll(() => rmSync(elsewhere, { recursive: true }));

beforeAll(() => {
  for (const name of ['inventory.yaml', 'lab.yaml'])
    writeFileSync(
      join(fake.folder, name),
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
projects: [vision]
defaults: { user: lab, pool: gpu-json, agents: 1, sshConfig: none }
hosts: { h200-1: { address: 127.0.0.1, port: 9, labels: { room: b12 } } }
`,
    );
  for (const name of ['smi.xml', 'dmesg.txt'])
    writeFileSync(join(elsewhere, name), '[ 1.0] Linux version 6.1.0\n');
});

const problem = z.strictObject({
  code: z.string(),
  host: z.string().optional(),
  step: z.string().optional(),
  what: z.string(),
  expected: z.string().optional(),
  seen: z.string().optional(),
  next: z.string().optional(),
  get details() {
    return z.array(problem).optional();
  },
});
/** As docs/commands.md tells it. The command's own members come after these. */
const envelope = z.looseObject({
  schema: z.literal(1),
  command: z.string().optional(),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  at: z.iso.datetime(),
  exitCode: z.int(),
  problems: z.array(problem),
});

async function json(argv: readonly string[], cwd = fake.folder) {
  const result = await runCommand(['--json', '--yes', ...argv], { cwd });
  const document = envelope.parse(JSON.parse(result.stdout));
  expect(document.exitCode).toBe(result.exitCode);
  return document;
}

/** The first example of a command, as it is told in its help. */
function example({ examples }: CommandSpec): readonly string[] {
  const [, line = ''] = /azp-fleet ([^)|>]+)/.exec(examples[0]?.[0] ?? '') ?? [];
  return line.trim().split(' ');
}

describe("every command's first example gives one document of one shape", () => {
  const telling = commands.flatMap((spec) => (spec.json === false ? [] : [{ spec, members: spec.json }]));
  test.each(telling.map((each) => [each.spec.name, each] as const))('%s', async (name, { spec, members }) => {
    const cwd = spec.inventory === false ? elsewhere : fake.folder;
    const { schema, command: told, version, at, exitCode, problems, ...own } = await json(example(spec), cwd);
    expect({ schema, told, version, at }).toMatchObject({ schema: 1, told: name });
    expect([0, 1]).toContain(exitCode);
    expect(Object.keys(own)).toEqual(members);
    const silent = exitCode === 1 ? [{ host: 'h200-1', code: 'ssh.refused' }] : [];
    expect(problems).toMatchObject(silent);
  });

  test('what one host lacks stands with the host too', async () => {
    expect(await json(['exec', '--', 'true'])).toMatchObject({
      hosts: [{ host: 'h200-1', problem: { code: 'ssh.refused' } }],
      problems: [{ host: 'h200-1', code: 'ssh.refused' }],
    });
  });
});

describe('a failure is the same document', () => {
  test.each([
    ['plan none.yaml', 'plan', 2],
    ['inventory show nobody', 'inventory show', 2],
    ['setup', undefined, 2],
    ['pland', undefined, 2],
  ])('%s', async (line, command, exitCode) => {
    const { problems, ...rest } = await json(line.split(' '));
    expect(rest).toEqual({
      schema: 1,
      version: expect.any(String),
      at: expect.any(String),
      exitCode,
      ...(command === undefined ? {} : { command }),
    });
    expect(problems).toHaveLength(1);
  });
});
