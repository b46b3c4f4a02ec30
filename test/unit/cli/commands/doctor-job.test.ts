// `doctor --job` as a user runs it: each reason for which a job waits or fails is made in the practice server, over real HTTP, and the
// managers answer over real ssh.
import { createServer, type Server } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { systemClock } from '../../../../src/shared/base/clock.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import type { WaitingReport } from '../../../../src/fleet/waiting/report.ts';
import { runCommand } from '../../../support/command.ts';
import { hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const hosts: HostileHost[] = [];
const managers: Server[] = [];
const slots: Partial<Record<string, Partial<SlotStatus>>> = {};
/** The pool of the present test. */
let pool = '';
let tests = 0;

/** A host whose manager reports one slot. */
async function host(name: string): Promise<string> {
  const socket = join(fake.folder, `${name}.sock`);
  const manager = createServer((_request, response) => {
    const { state = 'idle', ...more } = slots[name] ?? {};
    const slot = {
      slot: '0',
      agent: `${name}-0`,
      state,
      pool,
      gpus: [],
      since: '2026-11-21T08:00:00Z',
      jobsRun: 1,
    };
    const drains = [{ reason: 'a new fan', at: '2026-11-21T08:15:00Z', owner: 'ann@laptop' }];
    const status = managerStatus({
      host: name,
      slots: [{ ...slot, ...more }],
      drained: state === 'drained',
      drains: state === 'drained' ? drains : [],
    });
    response.end(JSON.stringify(status));
  });
  await new Promise<void>((resolve) => void manager.listen(socket, resolve));
  managers.push(manager);
  const served = await hostileHost({ answer: () => ({}), managerSocket: socket });
  hosts.push(served);
  return `${name}: { address: 127.0.0.1, port: ${served.port} }`;
}

let reachable: readonly string[] = [];
beforeAll(async () => {
  reachable = [await host('h1'), await host('h2')];
});
afterAll(() => {
  for (const each of [...hosts, ...managers]) each.close();
});
beforeEach(async () => {
  tests += 1;
  pool = `gpu-${tests}`;
  delete slots['h1'];
  delete slots['h2'];
  await fake.client().ensurePool(pool);
  write();
});
afterEach(async () => {
  // No job of one test counts as running in the next.
  const { pools } = await fake.control.overview();
  for (const { name } of pools.flatMap(({ agents: all }) => all)) await fake.control.endSession(name);
  await fake.control.limitJobs(null);
});

function write(projects = 'projects: [vision]'): void {
  writeFileSync(
    join(fake.folder, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
${projects}
defaults: { user: lab, pool: ${pool}, agents: 1, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${[...reachable, 'away: { address: 127.0.0.1, port: 9 }'].map((each) => `  ${each}\n`).join('')}`,
  );
}

const minute = 60_000;
/** By this clock no job has waited for long, however slow the test runs. */
const earlier = { aheadMs: -10 * minute };

/** `aheadMs`: how much later than the server's time it is. */
async function doctor(build: number | string, { json = false, aheadMs = 5 * minute } = {}) {
  const clock = { ...systemClock(1), wall: () => Date.now() + aheadMs };
  return await runCommand(['doctor', '--job', String(build), ...(json ? ['--json'] : [])], {
    cwd: fake.folder,
    env: { LOGIN: 'a-login-password', NO_COLOR: '1' },
    terminal: json ? false : { columns: 80, rows: 24 },
    clock,
  });
}

async function report(build: number | string, options = {}) {
  const { stdout, exitCode } = await doctor(build, { ...options, json: true });
  const { job, problems } = JSON.parse(stdout) as {
    job: WaitingReport;
    problems: readonly { readonly code: string; readonly what: string }[];
  };
  const causes = [...job.causes, ...job.jobs.flatMap((each) => each.causes)];
  return { ...job, exitCode, problems, found: causes, codes: causes.map(({ code }) => code) };
}

const queueOf = async () => {
  const client = fake.client();
  const found = await client.findPool(pool);
  if (found === undefined) throw new Error(`no pool ${pool}`);
  return { client, poolId: found.id, queue: await client.createQueue('vision', found) };
};

/** The project has the pool, and every pipeline may use it. */
async function permitted() {
  const { client, queue, poolId } = await queueOf();
  await client.authorizeQueue('vision', queue.id);
  return { client, poolId };
}

/** One agent; its name is that of no other test. */
const agents = (kind: string, more: object = {}) =>
  fake.control.makeAgents({ pool, count: 1, namePattern: `${kind}{n}-${tests}`, ...more });

/** The agent of a host: its only slot is 0. */
async function agentOf(name: string, more: object = {}): Promise<void> {
  await fake.control.makeAgents({
    pool,
    count: 1,
    namePattern: `{n}-${name}`,
    capabilities: { 'azp-fleet.host': name },
    ...more,
  });
  const client = fake.client();
  const found = await client.findPool(pool);
  const agent = await client.findAgent(found?.id ?? 0, `1-${name}`);
  await fetch(
    `${fake.server.organization}/_apis/distributedtask/pools/${found?.id}/agents/${agent?.id}?api-version=7.1`,
    {
      method: 'PATCH',
      headers: {
        authorization: `Basic ${Buffer.from(':good-token').toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ id: agent?.id, name: `${name}-0` }),
    },
  );
}

describe('every reason is made in the practice server and named', () => {
  test('all agents are busy: with which job, and since when', async () => {
    await permitted();
    await agents('gpu', { online: true });
    await fake.control.queue({ pool, name: 'nightly', project: 'vision' });
    await fake.control.queue({ pool, name: 'older', project: 'vision' });
    const build = await fake.control.begin({ pool });
    const { codes, found, jobs, exitCode } = await report(build);
    expect(exitCode).toBe(1);
    expect(codes).toEqual(['waiting.busy']);
    expect(jobs).toMatchObject([{ name: 'train', state: 'waiting', ahead: 1 }]);
    expect(found[0]?.agents).toMatchObject([
      { agent: `gpu1-${tests}`, state: 'busy', job: 'nightly', since: expect.stringMatching(/^20/) },
    ]);
    const { stdout } = await doctor(build);
    expect(stdout.replaceAll(/(?<=\(build )\d+|(?<=waits for )\d+|\d{8}\.\d+ \(\d+\)|20\d\d-\S+ \S+/g, 'N'))
      .toBe(`build N of train in project vision: in progress
! job train in pool ${pool}: waits for N min; 1 job before it
! the only agent that fits is busy [waiting.busy]
    gpu1-${tests}: runs nightly (build N) since N UTC
  next      wait for these jobs to end, or add agents or hosts to the pool
`);
  });

  test('the agent is drained: by whom, why, since when, and how to end it', async () => {
    await permitted();
    await agentOf('h1', { enabled: false });
    slots['h1'] = { state: 'drained' };
    const build = await fake.control.begin({ pool });
    const { codes, found } = await report(build);
    expect(codes).toEqual(['waiting.drained']);
    expect(found[0]).toMatchObject({
      next: 'run "azp-fleet undrain h1 --of ann" when it may take jobs again',
      agents: [{ host: 'h1', why: 'drained by ann@laptop: a new fan, since 2026-11-21 08:15 UTC' }],
    });
  });

  test('a drain is known from the pool where the host does not answer', async () => {
    await permitted();
    await agentOf('away', {
      enabled: false,
      capabilities: { 'azp-fleet.host': 'away', 'azp-fleet.disabled': 'drained by bob@desk: new rack' },
    });
    const { codes, found, unknown } = await report(await fake.control.begin({ pool }));
    expect(codes).toEqual(['waiting.drained']);
    expect(found[0]).toMatchObject({
      next: 'run "azp-fleet undrain away --of bob" when it may take jobs again',
      agents: [{ why: 'drained by bob@desk: new rack', unknown: expect.anything() }],
    });
    expect(unknown).toContainEqual({ what: 'manager of away', why: expect.any(String) });
  });

  test('the agent is in quarantine: why', async () => {
    await permitted();
    await agentOf('h1', { enabled: false });
    slots['h1'] = {
      state: 'quarantined',
      cause: 'GPU: it has fallen off the bus (XID 79)',
      next: 'reboot the host',
    };
    const { codes, found } = await report(await fake.control.begin({ pool }));
    expect(codes).toEqual(['waiting.quarantined']);
    expect(found[0]).toMatchObject({
      next: 'reboot the host',
      agents: [{ why: 'GPU: it has fallen off the bus (XID 79)' }],
    });
  });

  test('a person disabled the agent in Azure DevOps', async () => {
    await permitted();
    await agents('gpu', { enabled: false, online: true });
    const { codes, found } = await report(await fake.control.begin({ pool }));
    expect(codes).toEqual(['waiting.disabled']);
    expect(found[0]?.next).toContain('/_settings/agentpools?poolId=');
  });

  test('offline: which agents would fit, and why they are away', async () => {
    await permitted();
    await agentOf('h2');
    await agents('other');
    slots['h2'] = { state: 'backing-off', cause: 'the image cannot be pulled', next: 'check the registry' };
    await fake.control.makeAgents({ pool, count: 1, namePattern: 'cpu-{n}', online: true });
    const build = await fake.control.begin({ pool, demands: ['azp-fleet.host'] });
    const { codes, found } = await report(build);
    // The agent that is online takes the job, so that a second one waits.
    expect(codes).toEqual(['waiting.not-taken']);
    expect(found[0]?.what).toMatch(/sent to agent cpu-1 \d+ min ago/);
    const second = await report(await fake.control.begin({ pool, demands: ['azp-fleet.host'] }));
    expect(second.codes).toEqual(['waiting.offline', 'waiting.busy']);
    expect(second.found[0]?.agents).toMatchObject([
      { agent: 'h2-0', host: 'h2', state: 'offline', why: 'the image cannot be pulled' },
      { agent: `other1-${tests}`, state: 'offline', why: 'no host of the inventory has it' },
    ]);
    expect(second.found[0]?.next).toBe('check the registry');
  });

  test('the pipeline is not permitted to use the pool', async () => {
    await queueOf();
    await agents('gpu', { online: true });
    const build = await fake.control.begin({ pool });
    const { codes, found, jobs } = await report(build);
    expect(jobs).toEqual([]);
    expect(codes).toEqual(['waiting.not-permitted']);
    expect(found[0]?.next).toBe(
      `run: azp-fleet pool authorize ${pool} --project vision   # or press Permit on the page of the run`,
    );
  });

  test('the project does not have the pool', async () => {
    const { codes, found } = await report(await fake.control.begin({ pool }));
    expect(codes).toEqual(['waiting.no-queue']);
    expect(found[0]?.what).toBe(`project vision does not have pool ${pool}`);
  });

  test('the parallel jobs are used up while an agent is idle', async () => {
    await permitted();
    await fake.control.makeAgents({ pool, count: 2, online: true });
    await fake.control.limitJobs(1);
    await fake.control.queue({ pool, name: 'nightly', project: 'vision' });
    const { codes, found } = await report(await fake.control.begin({ pool }));
    expect(codes).toEqual(['waiting.parallel-jobs', 'waiting.busy']);
    expect(found[0]?.what).toBe(
      'the organization runs 1 of its 1 permitted parallel jobs of private projects',
    );
  });

  test('the agents that could take it now are too old', async () => {
    await permitted();
    await fake.control.makeAgents({ pool, count: 2, namePattern: 'old-{n}', online: true, version: '3.1.0' });
    await fake.control.makeAgents({ pool, count: 1, namePattern: 'new-{n}' });
    const build = await fake.control.begin({ pool, demands: ['Agent.Version -gtVersion 4.200.0'] });
    const { codes, found } = await report(build);
    expect(codes).toEqual(['waiting.offline', 'waiting.agent-too-old']);
    expect(found[1]).toMatchObject({
      what: '2 more agents are too old for the job, which demands agent version 4.200.0 or newer',
      agents: [{ agent: 'old-1', lacks: [{ demand: 'Agent.Version -gtVersion 4.200.0', has: '3.1.0' }] }, {}],
    });
  });

  test('it failed at once, because every agent is too old', async () => {
    await permitted();
    await agents('gpu', { online: true });
    const build = await fake.control.begin({ pool, demands: ['Agent.Version -gtVersion 9.1'] });
    const { codes, found, jobs } = await report(build);
    expect(jobs).toMatchObject([{ state: 'failed at once' }]);
    expect(codes).toEqual(['waiting.agent-too-old']);
    expect(found[0]?.next).toBe(
      'set agent.version in the inventory to 9.1 or newer, then run "azp-fleet provision"',
    );
  });

  describe.each([true, false])(
    'it failed at once, by a demand; the server lists such requests: %s',
    (listed) => {
      test('the demand, and the agent that lacks fewest', async () => {
        await permitted();
        await fake.control.listUnmatched(listed);
        await agents('far', { capabilities: { 'gpu.count': '1' } });
        await agents('near', { online: true, capabilities: { nvlink: 'yes' } });
        const build = await fake.control.begin({ pool, demands: ['nvlink', 'gpu.model -equals B200'] });
        const { codes, found, jobs, exitCode } = await report(build);
        expect(exitCode).toBe(1);
        expect(jobs).toMatchObject([{ name: 'train', pool, state: 'failed at once' }]);
        expect(codes).toEqual(['waiting.demand']);
        expect(found[0]).toMatchObject({
          what: `no agent of pool ${pool} meets the demand gpu.model -equals B200`,
          agents: [
            {
              agent: `near1-${tests}`,
              lacks: [{ demand: 'gpu.model -equals B200', has: 'NVIDIA A100-SXM4-80GB' }],
            },
          ],
        });
      });
    },
  );

  test('it failed at once, because the pool has no agents', async () => {
    await permitted();
    const { codes } = await report(await fake.control.begin({ pool }));
    expect(codes).toEqual(['waiting.no-agents']);
  });

  test.each([
    ['Approval', 'waiting.approval', 'waits for an approval since 20'],
    ['ExclusiveLock', 'waiting.check', ': ExclusiveLock'],
  ] as const)('it waits for a check: %s', async (check, code, text) => {
    await permitted();
    await agents('gpu', { online: true });
    const build = await fake.control.begin({ pool, checks: [check] });
    const { codes, found } = await report(build);
    expect(codes).toEqual([code]);
    expect(found[0]?.what).toContain(text);
    await fake.control.approve(build);
    expect((await report(build, earlier)).codes).toEqual([]);
  });

  test('an agent was given the job and does not start it', async () => {
    await permitted();
    await agents('gpu', { online: true });
    const build = await fake.control.begin({ pool });
    expect((await report(build)).codes).toEqual(['waiting.not-taken']);
    const young = await report(build, earlier);
    expect(young).toMatchObject({ codes: [], jobs: [{ state: 'sent', agent: `gpu1-${tests}` }] });
  });
});

describe('beside them, no reason is named', () => {
  test('a job that runs: a permitted pipeline, an agent that fits, no limit', async () => {
    await permitted();
    await agents('gpu', { online: true });
    const build = await fake.control.begin({ pool });
    const { jobs, codes, exitCode, problems, unknown } = await report(build, earlier);
    expect({ codes, problems, unknown, exitCode }).toEqual({
      codes: [],
      problems: [],
      unknown: [],
      exitCode: 1,
    });
    expect(jobs).toMatchObject([{ state: 'sent' }]);
  });

  test('one pipeline is permitted, and another is not', async () => {
    const { client, queue } = await queueOf();
    await agents('gpu', { online: true });
    await fetch(
      `${fake.server.organization}/vision/_apis/pipelines/pipelinepermissions/queue/${queue.id}?api-version=7.1-preview.1`,
      {
        method: 'PATCH',
        headers: {
          authorization: `Basic ${Buffer.from(':good-token').toString('base64')}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ pipelines: [{ id: 7, authorized: true }] }),
      },
    );
    expect(await client.isQueueAuthorized('vision', queue.id)).toBe(false);
    expect((await report(await fake.control.begin({ pool, definition: 7 }), earlier)).codes).toEqual([]);
    expect((await report(await fake.control.begin({ pool, definition: 8 }))).codes).toEqual([
      'waiting.not-permitted',
    ]);
  });

  test('a limit of parallel jobs that is not reached', async () => {
    await permitted();
    await fake.control.limitJobs(5);
    await agents('gpu', { online: true });
    await fake.control.queue({ pool, name: 'nightly', project: 'vision' });
    expect((await report(await fake.control.begin({ pool }))).codes).toEqual(['waiting.busy']);
  });

  test('a job that has ended on an agent', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool });
    for (const { id } of await fake.control.jobs()) await fake.control.cancel(id);
    const { jobs, codes, exitCode, build: of } = await report(build);
    expect({ codes, exitCode, jobs, of }).toMatchObject({
      codes: [],
      exitCode: 0,
      jobs: [{ state: 'canceled' }],
      of: { result: 'canceled', project: 'vision', pipeline: 'train' },
    });
  });
});

describe('what could not be read is unknown, with its reason', () => {
  test('without Build (Read) that part is not checked, and the rest is', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool });
    await fake.control.deny(['builds.read']);
    const { codes, unknown, build: of } = await report(build);
    expect(codes).toEqual(['waiting.offline']);
    expect(of).toEqual({ id: build, name: expect.any(String), pipeline: 'train' });
    expect(unknown).toEqual([
      { what: 'approvals, checks and the name of the build', why: 'the token lacks Build (Read)' },
    ]);
    expect((await doctor(build)).stdout).toContain(
      '– approvals, checks and the name of the build: the token lacks Build (Read)\n',
    );
  });

  test('without it, a pool that is not permitted is a possible reason', async () => {
    await queueOf();
    await agents('gpu', { online: true });
    const build = await fake.control.begin({ pool });
    await fake.control.deny(['builds.read']);
    const { found, exitCode } = await report(build);
    expect(exitCode).toBe(1);
    expect(found).toMatchObject([{ code: 'waiting.not-permitted', isPossible: true }]);
    expect((await doctor(build)).stdout).toContain(
      `? possible: pool ${pool} is not permitted for all pipelines`,
    );
    await fake.control.deny(['builds.read', 'permissions.read']);
    const blind = await report(build);
    expect(blind.found).toEqual([]);
    expect(blind.unknown.map(({ what }) => what)).toEqual([
      'approvals, checks and the name of the build',
      `permission of pool ${pool} in project vision`,
    ]);
  });

  test('a number alone, without a project in the inventory', async () => {
    write('');
    await agents('gpu');
    const { unknown } = await report(99_999);
    expect(unknown).toEqual([
      {
        what: 'approvals, checks and the name of the build',
        why: 'its project is not known: give the address of the run instead of its number',
      },
    ]);
  });

  test('the limit of parallel jobs', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool });
    await fake.control.fail({ count: 2, status: 500, path: 'resource(usage|limits)' });
    const { codes, unknown } = await report(build);
    expect(codes).toEqual(['waiting.offline']);
    expect(unknown).toMatchObject([{ what: 'parallel jobs' }]);
  });

  test('agents: the job waits for a reason that is not known, and not for none', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool });
    await fake.control.fail({ count: 20, status: 403, path: '/agents$' });
    const { jobs, unknown, exitCode } = await report(build);
    expect({ exitCode, jobs }).toMatchObject({ exitCode: 1, jobs: [{ state: 'waiting', causes: [] }] });
    expect(unknown).toMatchObject([{ what: `agents of pool ${pool}` }]);
    expect((await doctor(build)).stdout).toMatch(/waits for \d+ min, for a reason that could not be\s+read/);
  });
});

describe('several jobs, other pools, no job', () => {
  test('each waiting job of the build is listed; equal ones share a line', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool, jobs: 3 });
    const { jobs } = await report(build);
    expect(jobs.map(({ name, ahead }) => [name, ahead])).toEqual([
      ['train-1', undefined],
      ['train-2', 1],
      ['train-3', 2],
    ]);
    const { stdout } = await doctor(build);
    expect(stdout).toContain(`3 jobs train-[1-3] in pool ${pool}: wait`);
    expect(stdout.match(/waiting\.offline/g)).toHaveLength(1);
  });

  test("the address of a job's page selects that job", async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool, jobs: 2 });
    const client = fake.client();
    const found = await client.findPool(pool);
    const [, second] = await client.unfinishedRequests(found?.id ?? 0);
    const page = `${fake.server.organization}/vision/_build/results?buildId=${build}&view=logs&j=${second?.jobId}&t=${second?.jobId}`;
    expect((await report(page)).jobs.map(({ name }) => name)).toEqual(['train-2']);
  });

  test('a pool that no host of the inventory is in', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool });
    const own = pool;
    pool = 'gpu-other';
    write();
    const { jobs, unknown } = await report(build);
    expect(jobs).toMatchObject([{ pool: own, causes: [{ code: 'waiting.offline' }] }]);
    expect(unknown).toEqual([
      { what: 'queue of pool gpu-other', why: 'the pool does not exist, or the token may not see it' },
    ]);
  });

  test('a number that no job has: what is queued', async () => {
    await permitted();
    await agents('gpu', { online: true });
    await fake.control.begin({ pool, title: 'nightly' });
    const build = await fake.control.begin({ pool, title: 'lint' });
    const none = await report(99_999);
    expect(none).toMatchObject({
      exitCode: 1,
      jobs: [],
      codes: [],
      queue: [
        { pool, job: 'nightly', state: 'sent' },
        { pool, job: 'lint', build, pipeline: 'lint', state: 'waiting' },
      ],
      problems: [{ code: 'waiting.not-found', what: expect.stringContaining('build 99999') }],
    });
    const { stdout, stderr } = await doctor(99_999);
    expect(stdout).toMatch(new RegExp(`${build} +${pool} +lint +lint +waiting +\\d+ min ago`));
    expect(stderr).toContain('[waiting.not-found]');
  });

  test('names from the server cannot write to the terminal', async () => {
    await permitted();
    await agents('gpu');
    const build = await fake.control.begin({ pool, title: 'evil\u001b[2J\u001b]0;x\u0007\n✔ name' });
    const { stdout } = await doctor(build);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('job evil ✔ name in pool');
  });

  test.each(['', 'https://dev.azure.com/other/vision/_build/results?buildId=4', 'vision'])(
    '--job %j is no run here',
    async (given) => {
      const { exitCode, stderr } = await doctor(given);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('[usage.job]');
    },
  );
});
