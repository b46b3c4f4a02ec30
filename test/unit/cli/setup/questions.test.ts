// Real prompts on a fake terminal; the organization is the practice server, over HTTP.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { fakeControl } from '../../../../practice/azure/control/control.ts';
import { startFake, type RunningFake } from '../../../../practice/azure/start.ts';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { askAzure } from '../../../../src/cli/setup/azure.ts';
import { askHosts } from '../../../../src/cli/setup/ask-hosts.ts';
import { agentCount, askAgents, askDatasets, sayJobs } from '../../../../src/cli/setup/agents.ts';
import { askSecretSource } from '../../../../src/cli/setup/secrets.ts';
import { runSetup } from '../../../../src/cli/setup/wizard.ts';
import type { Answer } from '../../../support/keyboard.ts';
import { answering, startWizard } from '../../../support/wizard-session.ts';

const hosts = (...gpus: (number | undefined)[]) =>
  gpus.map((count, index) => ({ name: `h${index}`, ...(count === undefined ? {} : { gpus: count }) }));

describe('agents', () => {
  test.each<[string, ReturnType<typeof hosts>, readonly Answer[], object]>([
    ['one for each GPU', hosts(8, 1), [['Agents on each host']], { agents: 'one-per-gpu', share: false }],
    [
      'the number of GPUs of the smallest host',
      hosts(8, 2),
      [['Agents on each host', 'Down'], ['How many']],
      { agents: 2, share: false },
    ],
    [
      'more agents, with sharing',
      hosts(1),
      [
        ['Agents on each host', 'Down'],
        ['How many', '4'],
        ['A host has 1 GPU', 'y'],
      ],
      { agents: 4, share: true },
    ],
    [
      'more agents, then no sharing',
      hosts(2, 0),
      [
        ['Agents on each host', 'Down'],
        ['How many', '3'],
        ['A host has 2 GPUs', 'n'],
        ['How many', '1'],
      ],
      { agents: 1, share: false },
    ],
    ['no GPU anywhere', hosts(0, 0), [['No GPU was found', '2']], { agents: 2, share: false }],
    [
      'unknown number of GPUs',
      hosts(undefined),
      [['Agents on each host']],
      { agents: 'one-per-gpu', share: false },
    ],
  ])('%s', async (_, found, script, expected) => {
    const setup = startWizard();
    expect(await answering(setup, () => askAgents(setup.wizard, found), ['Agent pool'], ...script)).toEqual({
      pool: 'gpu-lab',
      ...expected,
    });
  });
});

test('a host with a name in use needs another name', async () => {
  const setup = startWizard();
  const { keyboard } = setup;
  const asked = askHosts(setup.wizard, ['gpu']);
  await keyboard.answer(['Hosts (user@', 'gpu.lab.example 192.0.2.7']);
  await keyboard.see('The inventory already has gpu; use name=address for another name');
  keyboard.stdin.write('\u0015box=gpu.lab.example 192.0.2.7\r');
  expect(await asked).toEqual([{ name: 'box', address: 'gpu.lab.example' }, { name: '192.0.2.7' }]);
});

test('datasets get a variable and a path from their folder; mounts that were found are offered', async () => {
  const setup = startWizard();
  const answers = answering(
    setup,
    () => askDatasets(setup.wizard, ['/mnt/imagenet']),
    ['Mounts of the hosts', 'Space'],
    ['Other folders', '/data/2024 set/'],
    ['Environment variable with the path of /mnt/imagenet'],
    ['Is /mnt/imagenet a mount'],
    ['Environment variable with the path of /data/2024 set/'],
    ['Is /data/2024 set/ a mount', 'y'],
  );
  expect(await answers).toEqual([
    { name: 'IMAGENET', host: '/mnt/imagenet', container: '/datasets/imagenet', requireMount: true },
    {
      name: 'DATA_2024_SET',
      host: '/data/2024 set/',
      container: '/datasets/data_2024_set',
      requireMount: true,
    },
  ]);
});

test('a secret typed instead of its source is refused', async () => {
  const setup = startWizard();
  const { keyboard } = setup;
  const asked = askSecretSource(setup.wizard, {
    key: 'token',
    what: 'the access token',
    variable: 'AZP_TOKEN',
  });
  await keyboard.answer(
    ['Where is the access token stored', 'Down', 'Down'],
    ['Command', 'abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst'],
  );
  await keyboard.see('That looks like the secret itself');
  keyboard.stdin.write('\u0015pass show azp\r');
  expect(await asked).toEqual({ cmd: 'pass show azp' });
});

describe('Azure DevOps', () => {
  const folder = mkdtempSync(join(tmpdir(), 'questions-'));
  const tokenFile = join(folder, 'token');
  let fake: RunningFake;
  beforeAll(async () => {
    writeFileSync(tokenFile, 'right\n', { mode: 0o600 });
    fake = await startFake({
      host: '127.0.0.1',
      port: 0,
      tokenFile,
      organization: 'lab',
      projects: ['vision'],
      clock: systemClock(1),
    });
  });
  afterAll(async () => {
    await fake.close();
    rmSync(folder, { recursive: true });
  });

  test('a valid token', async () => {
    const setup = startWizard({ env: { AZP_TOKEN: 'right' } });
    const answers = answering(
      setup,
      () => askAzure(setup.wizard),
      ['organization', fake.organization],
      ['Does internet access need a proxy'],
      ['Where is the access token stored', 'Down'],
      ['Variable'],
      ['When does it expire'],
      ['Projects'],
    );
    expect(await answers).toEqual({
      organization: fake.organization,
      credential: { kind: 'pat', token: { env: 'AZP_TOKEN' } },
      network: {},
      pools: ['Default'],
      projects: ['vision'],
    });
    expect(setup.printed.join('\n')).toContain('accepts the variable AZP_TOKEN; pools: 1');
  });

  test('a limit of parallel jobs is shown with the number of agents', async () => {
    const control = fakeControl(fake.origin);
    await control.limitJobs(1);
    const setup = startWizard({ env: { AZP_TOKEN: 'right' } });
    const answers = answering(
      setup,
      () => askAzure(setup.wizard),
      ['organization', fake.organization],
      ['Does internet access need a proxy'],
      ['Where is the access token stored', 'Down'],
      ['Variable'],
      ['When does it expire'],
      ['Projects'],
    );
    const { jobs, organization } = await answers;
    expect(jobs).toEqual({ permitted: 1, used: 0 });
    const hosts = [{ name: 'a', gpus: 6 }, { name: 'b', gpus: 2 }, { name: 'c' }];
    const agents = agentCount(hosts, { pool: 'p', agents: 'one-per-gpu', share: false });
    sayJobs(setup.wizard, organization, agents, jobs);
    const printed = setup.printed.join(' ').replaceAll(/\s+/gu, ' ');
    expect(printed).toContain(
      '8 agents, 1 permitted parallel job of private projects, 0 in use: only 1 of them',
    );
    expect(printed).toContain(`Organization settings > Parallel jobs (${organization}/_settings/buildqueue)`);
    expect(agentCount(hosts, { pool: 'p', agents: 2, share: true })).toBe(6);
    await control.limitJobs(null);
  });

  test('a wrong token is reported with its fix, and organization and token can be corrected', async () => {
    const setup = startWizard({ env: { WRONG: 'wrong', AZP_TOKEN: 'right' } });
    const answers = answering(
      setup,
      () => askAzure(setup.wizard),
      ['organization', fake.organization],
      ['Does internet access need a proxy'],
      ['Where is the access token stored', 'Down'],
      ['Variable', 'WRONG'],
      ['The token check failed', 'Down', 'Down'],
      ['organization', fake.organization],
      ['Does internet access need a proxy'],
      ['Where is the access token stored', 'Down'],
      ['Variable', 'AZP_TOKEN'],
      ['When does it expire', '2027-05-01'],
      ['Projects', 'Space'],
    );
    expect(await answers).toMatchObject({
      credential: { kind: 'pat', token: { env: 'AZP_TOKEN' }, expires: '2027-05-01' },
      projects: [],
    });
    expect(setup.printed.join('\n')).toContain('token rejected');
    expect(setup.printed.join('\n')).toContain('check that the token is of this organization');
  });

  test('another token can be used without answering the rest again', async () => {
    const setup = startWizard({ env: { WRONG: 'wrong', AZP_TOKEN: 'right' } });
    const answers = answering(
      setup,
      () => askAzure(setup.wizard),
      ['organization', fake.organization],
      ['Does internet access need a proxy'],
      ['Where is the access token stored', 'Down'],
      ['Variable', 'WRONG'],
      ['The token check failed', 'Down'],
      ['Where is the access token stored', 'Down'],
      ['Variable', 'AZP_TOKEN'],
      ['When does it expire'],
      ['Projects', 'Space'],
    );
    expect(await answers).toMatchObject({ credential: { kind: 'pat', token: { env: 'AZP_TOKEN' } } });
    expect(setup.kept().map(({ key }) => key)).toEqual([
      'organization',
      'network',
      'token.kept',
      'token.env',
      'token.expires',
      'projects.listed',
    ]);
  });

  test('after five wrong tokens setup ends, names the next action and keeps the answers before', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const setup = startWizard({ home });
    const stored = ['Where is the access token'] as const;
    const pasted = ['The access token', 'wrong'] as const;
    const another = ['The token check failed', 'Down'] as const;
    const answers = answering(
      setup,
      () => askAzure(setup.wizard),
      ['organization', fake.organization],
      ['Does internet access need a proxy'],
      ...[1, 2, 3, 4].flatMap(() => [stored, pasted, another]),
      stored,
      pasted,
    );
    await expect(answers).rejects.toMatchObject({
      problem: {
        code: 'azure.auth',
        what: expect.stringMatching(/^5 checks failed; the last: /u),
        next: expect.stringContaining(`create a token at ${fake.organization}/_usersSettings/tokens`),
      },
    });
    expect(setup.kept().map(({ key }) => key)).toEqual(['organization', 'network']);
  });

  test('after five answers that are no token setup ends and names another source', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    const setup = startWizard({ home });
    const asked = askSecretSource(setup.wizard, {
      key: 'token',
      what: 'the access token',
      variable: 'AZP_TOKEN',
      pasted: 'token',
    });
    const failed = expect(asked).rejects.toMatchObject({
      problem: { code: 'usage.answer', next: expect.stringContaining('in a file that only I can read') },
    });
    await setup.keyboard.answer(
      ['Where is the access token'],
      ...[1, 2, 3, 4, 5].map(() => ['The access token', 'two words'] as const),
    );
    await failed;
  });

  test('an unset variable is no error, and the name of the organization suffices', async () => {
    const setup = startWizard();
    const answers = answering(
      setup,
      () => askAzure(setup.wizard),
      ['organization', 'example'],
      ['Does internet access need a proxy'],
      ['Where is the access token stored', 'Down'],
      ['Variable'],
      ['When does it expire'],
      ['Projects', 'vision, speech'],
    );
    expect(await answers).toEqual({
      organization: 'https://dev.azure.com/example',
      credential: { kind: 'pat', token: { env: 'AZP_TOKEN' } },
      network: {},
      projects: ['vision', 'speech'],
    });
    expect(setup.printed.join(' ')).toContain('environment variable AZP_TOKEN is not set');
  });
});

test('new hosts are tested with the hosts of the inventory, which may be jump hosts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'azp-join-'));
  const file = join(folder, 'lab.yaml');
  writeFileSync(
    file,
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
hosts: { bastion: { pool: p }, first: { pool: p, jump: bastion } }
`,
  );
  const setup = startWizard();
  const failed = expect(runSetup(setup.wizard, file)).rejects.toThrow(
    'unexpected connection, with bastion first',
  );
  await setup.keyboard.answer(['has 2 hosts'], ['Hosts (user@', 'second']);
  await failed;
  rmSync(folder, { recursive: true });
});
