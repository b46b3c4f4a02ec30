// The examples for an inventory in git: the units of the admin's machine, and the pipeline that shows plans.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { commands } from '../../src/cli/commands.ts';
import { parseArguments } from '../../src/cli/parse.ts';
import { blocks } from '../support/shown-commands.ts';

const service = readFileSync('units/azp-fleet-harmless.service', 'utf8');

/** Returns all values of a directive. */
function directive(name: string): readonly string[] {
  return [...service.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

const accepted = (argv: readonly string[]) =>
  parseArguments(argv, commands, {
    out: () => undefined,
    err: () => undefined,
    env: {},
    version: '0',
    columns: 80,
  });

describe('the service', () => {
  test('runs a command that the program accepts, and that asks nothing', () => {
    const [, ...argv] = directive('ExecStart')[0]?.split(' ') ?? [];
    expect(accepted(argv)?.spec.name).toBe('provision');
    expect(argv).toEqual(expect.arrayContaining(['--only-harmless', '--yes', '--textfile']));
  });

  test('has secrets in no command line and in no unit, and git gets none', () => {
    expect(directive('EnvironmentFile')).toEqual(['/etc/azp-fleet-admin/secrets']);
    for (const line of [...directive('ExecStart'), ...directive('ExecStartPre'), ...directive('Environment')])
      expect(line).not.toMatch(/TOKEN|WEBHOOK|SECRET|\$/);
    expect(directive('ExecStartPre')[0]).toMatch(/^\/usr\/bin\/env -i /);
  });

  test('counts changes that are left as a success, and is interrupted as by Ctrl-C', () => {
    expect(directive('SuccessExitStatus')).toEqual(['3']);
    expect(directive('KillSignal')).toEqual(['SIGINT']);
  });

  test.each([
    ['ProtectSystem', 'strict'],
    ['ProtectHome', 'yes'],
    ['PrivateDevices', 'yes'],
    ['NoNewPrivileges', 'yes'],
    ['CapabilityBoundingSet', ''],
    ['UMask', '0077'],
  ])('is in a sandbox: %s=%s', (name, value) => {
    expect(directive(name)).toEqual([value]);
  });

  test('writes the textfile where its sandbox permits it', () => {
    const file = / --textfile (\S+)/.exec(directive('ExecStart')[0] ?? '')?.[1] ?? '';
    expect(directive('ReadWritePaths')).toEqual([`-${file.slice(0, file.lastIndexOf('/'))}`]);
  });
});

test('the timer starts it again only after its end', () => {
  const timer = readFileSync('units/azp-fleet-harmless.timer', 'utf8');
  expect(timer).toMatch(/^OnUnitInactiveSec=/m);
  expect(timer).not.toMatch(/^OnCalendar=/m);
});

const text = z.string().min(1);
/** Keys of the documented YAML schema, as far as the template uses them. */
const template = z.strictObject({
  jobs: z.tuple([
    z.strictObject({
      job: text,
      displayName: text,
      condition: text,
      pool: z.strictObject({ name: text }),
      variables: z.array(
        z.union([z.strictObject({ group: text }), z.strictObject({ name: text, value: text })]),
      ),
      steps: z.array(
        z.union([
          z.strictObject({
            checkout: z.literal('self'),
            clean: z.boolean(),
            fetchDepth: z.literal(0),
            persistCredentials: z.literal(false),
          }),
          z.strictObject({ script: text, displayName: text, env: z.record(text, text).optional() }),
          z.strictObject({ task: text, name: text, displayName: text, inputs: z.record(text, text) }),
        ]),
      ),
    }),
  ]),
});

describe('the pipeline', () => {
  const source = readFileSync('examples/azure-pipelines/plan.yml', 'utf8');
  const [job] = template.parse(parse(source, { strict: true })).jobs;
  const scripts = job.steps.flatMap((step) => ('script' in step ? [step] : []));

  test('runs for pull requests of the same repository only, also where the service does not say', () => {
    expect(job.condition).toContain("eq(variables['Build.Reason'], 'PullRequest')");
    expect(job.condition).toContain("eq(variables['System.PullRequest.IsFork'], 'False')");
  });

  test('compares the inventories before anything has a secret, and before the plan', () => {
    const check = scripts.findIndex(({ script }) => script.includes('--same-commands-as'));
    const plan = scripts.findIndex(({ script }) => / plan /.test(script));
    const secret = scripts.findIndex(({ env }) => env !== undefined);
    expect([check >= 0, check < secret, secret <= plan]).toEqual([true, true, true]);
  });

  test('expands nothing of a pull request in a script', () => {
    for (const { script } of scripts) expect(script).not.toMatch(/\$\(\w+\.|\$\{\{/);
  });

  test('runs commands that the program accepts', () => {
    const lines = scripts.flatMap(({ script }) => [...script.matchAll(/\/azp-fleet ([^>|&\n]+)/g)]);
    const found = lines.map(
      ([, line = '']) => accepted(line.trim().replaceAll('"', '').split(/\s+/))?.spec.name,
    );
    expect(found).toEqual(['inventory check', 'plan']);
  });
});

test.each(blocks('docs/gitops.md', 'yaml'))('the page has valid YAML: %s', (block) => {
  expect(() => parse(block, { strict: true }) as unknown).not.toThrow();
});
