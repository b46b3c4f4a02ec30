// Every example of the help with --json, as a user runs it: with the fake server, and a host whose port is closed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';

import { outputSchema, type schemaNames } from '../../../scripts/output-schemas.ts';
import { commands } from '../../../src/cli/commands.ts';
import { runCommand } from '../../support/command.ts';
import { useFake } from '../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const fake = useFake();
const elsewhere = mkdtempSync(join(tmpdir(), 'azp-json-'));
afterAll(() => rmSync(elsewhere, { recursive: true }));

beforeAll(() => {
  // The second host is only in examples that contact none.
  for (const [name, more] of [
    ['inventory.yaml', ''],
    ['lab.yaml', ', h200-2: {}'],
    ['main.yaml', ', h200-2: {}'],
  ] as const)
    writeFileSync(
      join(fake.folder, name),
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
projects: [vision]
defaults: { user: lab, pool: gpu-lab, agents: 1, sshConfig: none }
groups: { hopper: { hosts: [h200-1] } }
hosts: { h200-1: { address: 127.0.0.1, port: 9, labels: { room: b12 } }${more} }
`,
    );
  const kernelLog = '[    1.000000] Linux version 6.1.0\n';
  const files = {
    'smi.xml': kernelLog,
    'dmesg.txt': kernelLog,
    'nvidia-bug-report.log.gz': kernelLog,
    'hosts.ini': '[gpu]\nh200-1 ansible_host=192.0.2.7\n',
    'hosts.json': '{ "azp_fleet_hosts": { "value": { "h200-1": { "address": "192.0.2.7" } } } }',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(elsewhere, name), text);
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
/** The envelope as docs/commands.md documents it. The members of the command follow. */
const envelope = z.looseObject({
  schema: z.literal(1),
  command: z.string().optional(),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  at: z.iso.datetime(),
  exitCode: z.int(),
  problems: z.array(problem),
});

async function json(argv: readonly string[], cwd = fake.folder) {
  // The input of examples that read from a pipe.
  const stdin = Readable.from(['[    1.000000] Linux version 6.1.0\n']);
  const result = await runCommand(['--json', '--yes', ...argv], { cwd, stdin });
  const document = envelope.parse(JSON.parse(result.stdout));
  expect(document.exitCode).toBe(result.exitCode);
  return document;
}

/** Returns in what a document differs from the schema of its command, members that the schema lacks included. */
function mistakes(command: string, document: object): readonly object[] {
  const schema = outputSchema(command as (typeof schemaNames)[number], { closed: true });
  const validate = new Ajv({ allErrors: true }).compile(schema);
  validate(document);
  return validate.errors ?? [];
}

/** Returns the arguments of azp-fleet in an example: up to a pipe, a redirection, or the next command. */
function typed(line: string): readonly string[] {
  const [, own = ''] = /azp-fleet ((?:'[^']*'|"[^"]*"|[^)|>&'"])+)/.exec(line) ?? [];
  return [...own.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, one, two, bare]) => one ?? two ?? bare ?? '',
  );
}

/** Examples that need Docker and a network, or a bundle: here they report what is missing. */
const ofBundle = /^azp-fleet bundle | --bundle /;
/** Examples that need a terminal: with --json they are refused, which is a document, too. */
const refused = / --watch\b| logs .* -f\b| --mint\b/;
/** Examples whose document has other members, as their description says. */
const ofGone: ReadonlySet<string> = new Set(['azp-fleet remove --gone h100-3']);

describe('every example of every command prints one valid document', () => {
  const examples = commands.flatMap((spec) =>
    spec.json === false ? [] : spec.examples.map(([line]) => ({ line, spec, members: spec.json })),
  );
  test.each(examples.map((each) => [each.line, each] as const))('%s', async (line, { spec, members }) => {
    const cwd = spec.inventory === false ? elsewhere : fake.folder;
    const words = typed(line).map((word) =>
      word.replace('https://dev.azure.com/example/', `${fake.server.organization}/`),
    );
    const document = await json(words, cwd);
    expect(mistakes(spec.name, document)).toEqual([]);
    const { schema, command, version, at, exitCode, problems, ...own } = document;
    expect({ schema, command, version, at }).toMatchObject({ schema: 1, command: spec.name });
    if (refused.test(line)) {
      expect(problems).toMatchObject([{ code: expect.stringMatching(/^usage\./) }]);
      return expect({ exitCode, own }).toEqual({ exitCode: 2, own: {} });
    }
    if (ofBundle.test(line)) {
      expect(problems).toHaveLength(1);
      return expect([[], members]).toContainEqual(Object.keys(own));
    }
    const hostFailed = line.includes('status --check') ? 2 : 1;
    expect([0, hostFailed]).toContain(exitCode);
    expect(Object.keys(own)).toEqual(ofGone.has(line) ? ['leftovers', 'pruned', 'sshLines'] : members);
    // No job has this number here.
    if (line.includes('--job')) return expect(problems).toMatchObject([{ code: 'waiting.not-found' }]);
    const silent = exitCode === hostFailed ? [{ host: 'h200-1', code: 'ssh.refused' }] : [];
    expect(problems).toMatchObject(silent);
  });

  // setup asks on a terminal: test/lab/setup*.test.ts types its examples.
  test('the examples of ssh run ssh and exit with its code', async () => {
    const quiet = commands.filter(({ json: members }) => members === false).map(({ name }) => name);
    expect(quiet.toSorted()).toEqual(['setup', 'ssh']);
    for (const [line] of commands.find(({ name }) => name === 'ssh')?.examples ?? [])
      expect(await runCommand(typed(line), { cwd: fake.folder })).toMatchObject({
        exitCode: 255,
        stdout: '',
      });
  });

  test('a problem of one host is also in the entry of the host', async () => {
    expect(await json(['exec', '--', 'true'])).toMatchObject({
      hosts: [{ host: 'h200-1', problem: { code: 'ssh.refused' } }],
      problems: [{ host: 'h200-1', code: 'ssh.refused' }],
    });
  });
});

describe('a failure is the same document', () => {
  test.each([
    ['plan none.yaml', 'plan', 2],
    ['inventory show h999', 'inventory show', 2],
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
