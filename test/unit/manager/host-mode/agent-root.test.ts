import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import {
  AgentRoots,
  jobLabel,
  ofAgent,
  removeJobLeftovers,
} from '../../../../src/manager/host-mode/agent-root.ts';
import { type CommandResult, runCommand } from '../../../../src/manager/machine/command.ts';
import { cleanDocker } from '../../../support/host-runs.ts';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { StandInEngine } from '../../../support/docker/engine.ts';
import { standInNetwork } from '../../../support/docker/networks.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agent-root-'));
  chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true }));

function roots(below: string, answers: Record<string, CommandResult> = {}): AgentRoots {
  return new AgentRoots(join(directory, below), {
    command: async (program, args, deadlineMs) => answers[program] ?? runCommand(program, args, deadlineMs),
    docker: cleanDocker,
    log: silentLogger,
    jobsUseDocker: true,
  });
}

const user = { name: 'me', uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

test.each([
  ['0', '0'],
  ['bare-metal_1.x', 'bare-metal_1.x'],
  ['a/b', 'a_b-c14cdd'],
  ['..', '_.-5ec1f7'],
])('slot %j has the folder %j', (slot, folder) => {
  expect(roots('agents').of(slot)).toBe(join(directory, 'agents', folder));
});

test.each([
  [0o700, '0700'],
  // Access without listing is not enough.
  [0o711, '0711'],
  [0o751, '0751'],
])(
  'below a folder of mode %o no agent is created, and the error names the folder and the fix',
  async (mode, seen) => {
    const closed = join(directory, 'closed');
    mkdirSync(closed, { mode });
    chmodSync(closed, mode);
    const agents = roots('closed/agents');
    await expect(agents.fill(agents.of('0'), '/bin', user)).rejects.toMatchObject({
      problem: {
        code: 'host-mode.folder-closed',
        what: `agents below ${closed}/agents cannot list ${closed}`,
        seen: `mode ${seen}`,
        next: `run on the host: chmod o+rx ${closed}`,
      },
    });
  },
);

test('files that cannot be removed stop the slot, and the error has the next action', async () => {
  const output = "rm: cannot remove '/v/0/_work/1/data': Device or resource busy\n";
  const answer = { code: 1, output, timedOut: false, stillRunning: () => false };
  await expect(roots('agents', { rm: answer }).clear('/v/0')).rejects.toMatchObject({
    problem: {
      code: 'host-mode.folder-stays',
      what: 'files of a job in /v/0 cannot be removed',
      seen: output.trim(),
      next: 'check findmnt and lsattr -R /v/0 on the host, and remove the folder by hand',
    },
  });
});

test('clearing a missing folder is no error, and a link is not followed', async () => {
  const agents = roots('agents');
  await agents.clear(agents.of('0'));
  const elsewhere = join(directory, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'kept'), '');
  mkdirSync(agents.of('0'), { recursive: true });
  await runCommand('ln', ['-s', elsewhere, join(agents.of('0'), 'link')], 10_000);
  await agents.clear(agents.of('0'));
  const { output } = await runCommand('ls', [elsewhere, join(directory, 'agents')], 10_000);
  expect(output).toContain('kept');
  expect(output).not.toContain('link');
});

const root = '/var/lib/azp-fleet-agents/Bare';
const network = `vsts_network_${'0123456789abcdef'.repeat(2)}`;

// printf %s PATH | sha256sum, with the path in lower case like the agent.
test.each([
  ['/azp', 'f3b821'],
  ['/AZP', 'f3b821'],
])('an agent in %s has the label %s', (path, label) => {
  expect(jobLabel(path)).toBe(label);
});

const container = (...sources: readonly string[]) => ({ id: 'c', name: 'job_ubuntu2204_1a2b3c', sources });

test.each([
  ['with the work folder', container('/data', `${root}/_work/1`), true],
  ['with the tools', container(`${root}/externals`), true],
  ['of an agent whose path has the same beginning', container(`${root}-2/_work/1`), false],
  ['of another user', container('/home/other/agent/_work/1'), false],
  ['without mounts', container(), false],
])('a container with the label, %s', (_, each, isOurs) => {
  expect(ofAgent(root, { containers: [each], networks: [] }).containers).toHaveLength(isOurs ? 1 : 0);
});

test.each([
  [network, true],
  ['vsts_network_short', false],
  [`${network}0`, false],
  ['my-network', false],
])('a network with the label, named %s', (name, isOurs) => {
  expect(ofAgent(root, { containers: [], networks: [{ id: 'n', name }] }).networks).toHaveLength(
    isOurs ? 1 : 0,
  );
});

let docker: StandInEngine;
let engine: Engine;
beforeEach(async () => {
  docker = await new StandInEngine().start();
  engine = createEngine({ socketPath: docker.socketPath });
});
afterEach(() => docker.close());

async function runs(name: string, label: string, binds: readonly string[], on: string): Promise<void> {
  const HostConfig = { Binds: [...binds], NetworkMode: on };
  await engine.start(await engine.create(name, { Image: 'x', Labels: { [label]: '' }, HostConfig }));
}

test('containers and networks of a killed agent are removed, running or not; others stay', async () => {
  const mine = jobLabel(root);
  const others = network.replace('0', 'f');
  docker.networks.push(standInNetwork({ Name: network, Labels: { [mine]: '' } }));
  docker.networks.push(standInNetwork({ Name: others, Labels: { [jobLabel('/home/other/agent')]: '' } }));
  await runs('job_1', mine, [`${root}/_work/1:/__w/1`], network);
  await runs('other', jobLabel('/home/other/agent'), ['/home/other/agent/_work/1:/__w/1'], others);
  await runs('same-label', mine, ['/srv/data:/data'], 'bridge');
  expect(await removeJobLeftovers(engine, root)).toEqual(['job_1', network]);
  expect([...docker.containers.values()].map(({ name }) => name)).toEqual(['other', 'same-label']);
  expect(docker.networks.map(({ Name }) => Name)).toEqual([others]);
  expect(await removeJobLeftovers(engine, root)).toEqual([]);
});

test('a network with another container stays, without an error', async () => {
  docker.networks.push(standInNetwork({ Name: network, Labels: { [jobLabel(root)]: '' } }));
  await runs('mine-by-hand', 'x', [], network);
  await removeJobLeftovers(engine, root);
  expect(docker.networks.map(({ Name }) => Name)).toEqual([network]);
});

test('while Docker does not answer, nothing counts as removed', async () => {
  docker.fail(/GET \/networks/, 500, 'not now');
  await expect(removeJobLeftovers(engine, root)).rejects.toThrow('listing by a label');
});
