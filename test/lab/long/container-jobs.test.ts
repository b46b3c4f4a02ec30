// Container jobs in slots straight on the host. Real: the host's Docker Engine and its command, users, units, folders,
// mounts, networks, `--gpus`. Stand-ins: the agent (practice/agent/root/bin/container.mjs does what the real one does
// with Docker), the job's image, the GPUs with their hook, Azure DevOps. The server's clock is fast.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { FakeJob } from '../../../practice/azure/control/control.ts';
import { bases } from '../../../src/shared/image/choose.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { registry } from '../../../practice/lab/paths.ts';
import { until } from '../../../practice/lab/run.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';

const agents = ['one', 'two'].map((name, gpu) => ({ name, gpus: [gpu], mode: 'host' }));
const image = `${registry}/${bases.cpu.tag}`;

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
beforeAll(async () => {
  lab = await startStackLab({ prefix: 'jobs', hosts: [{ name: 'metal', gpus: ['h200', 'l40s'] }] });
  host = lab.host('metal');
  azure = await startAzure('jobs', lab.folder, { speed: 20 });
  managed = new ManagedHost(host, azure);
  const hosts = { metal: { agents, jobs: { docker: true } } };
  const inventory = await writeInventory(lab, azure, { hosts });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});
afterAll(() => lab.remove());

/** A job of the slot's agent in a container. */
async function queue(slot: string, script: string, options = ''): Promise<readonly FakeJob[]> {
  const demands = [`Agent.Name -equals metal-${slot}`];
  return azure.control.queue({ pool, script, demands, container: { image, options } });
}

/**
 * What the real agent (5.278.0, run with its open source) asks of docker for a job, in its order, as its log has it. A slot's
 * user has one number for itself and its group: the agent then creates no group in the container.
 */
const asked = (
  'version, version, ps, network prune, pull, info, network create, inspect, create, start, ps, exec sh, exec bash, ' +
  'exec bash, exec useradd, exec groupadd, exec usermod, exec su, exec bash, rm, network rm'
).split(', ');

const askedIn = (log: string): string[] =>
  [...log.matchAll(/##\[command\]docker (\S+) (\S+)(?: (\S+))?/g)].map(([, verb = '', first, second]) => {
    if (verb === 'network') return `network ${first}`;
    return verb === 'exec' ? `exec ${second}` : verb;
  });

/** What container jobs have in Docker now: containers that have an agent's folder mounted, and jobs' networks. */
async function inDocker(): Promise<string> {
  const { stdout } = await host.exec(`docker ps -aq | xargs -r docker inspect \
  -f '{{.Name}} {{range .Mounts}}{{.Source}} {{end}}' | grep /var/lib/azp-fleet-agents/ | cut -d' ' -f1
docker network ls --format '{{.Name}}' | grep vsts_network_ || true`);
  return stdout.trim();
}

test('an agent that is itself in a container refuses, as every machine of the lab is one', async () => {
  const [job] = await managed.finished(await queue('one', 'echo ran'));
  expect(job?.result).toBe('failed');
  expect(await azure.control.log(job?.id ?? 0)).toContain(
    'not supported when agent is already running inside container',
  );
  // From here on the agents' units see themselves as on a separate machine.
  await host.exec(`mkdir -p /etc/systemd/system/azp-fleet-agent-.service.d
echo '1:name=systemd:/init.scope' > /etc/lab-cgroup
printf '[Service]\\nBindReadOnlyPaths=/etc/lab-cgroup:/proc/1/cgroup\\n' > /etc/systemd/system/azp-fleet-agent-.service.d/lab.conf
systemctl daemon-reload`);
  await managed.allIdle();
  // Those that wait began before.
  await managed.finished(await managed.queue('true', 1, ['Agent.Name -equals metal-one']));
  await managed.finished(await managed.queue('true', 1, ['Agent.Name -equals metal-two']));
});

test('jobs of two slots run in containers at once: GPUs by an option, the work folder, the user; nothing is left', async () => {
  await managed.allIdle();
  await host.exec('mkdir -m 0777 -p /srv/meet');
  const script = (mine: string, other: string): string => `touch /meet/${mine}
for i in $(seq 6000); do [ -e /meet/${other} ] && break; sleep 0.1; done
[ -e /meet/${other} ] && echo met
pwd; id -u; [ -e /.dockerenv ] && echo inside
echo "$AGENT_WORKFOLDER"
nvidia-smi -L | grep -o 'GPU-[0-9a-f-]*'
echo made > mine; sudo mkdir -p roots; sudo touch roots/file; stat -c %U roots`;
  const options = '--gpus all -v "/srv/meet:/meet"';
  const jobs = await managed.finished([
    ...(await queue('one', script('1', '2'), options)),
    ...(await queue('two', script('2', '1'), options)),
  ]);
  const uids = await Promise.all(
    ['one', 'two'].map(async (slot) => (await host.exec(`id -u azp-agent-${slot}`)).stdout.trim()),
  );
  for (const [index, job] of jobs.entries()) {
    const log = await azure.control.log(job.id);
    expect(job.result, log).toBe('succeeded');
    const said = [
      'met',
      '/__w/1/s',
      uids[index],
      'inside',
      '/__w',
      ...host.gpus.map(({ uuid }) => uuid),
      'root',
    ];
    expect(job.log).toContain(`${said.join('\n')}\n`);
    expect(askedIn(log)).toEqual(asked);
    expect(log).toMatch(/docker exec \S+ bash -c \/__a\/externals\/node24\/bin\/node -v/);
    expect(log).toContain(`-v /var/lib/azp-fleet-agents/${['one', 'two'][index]}/_work/1:/__w/1`);
  }
  await managed.allIdle();
  expect(await inDocker()).toBe('');
  expect((await host.exec('find /var/lib/azp-fleet-agents -name mine -o -name roots')).stdout).toBe('');
});

test("no slot's user reads the key or the work of another, all list what lies above", async () => {
  await managed.allIdle();
  const as = (command: string) =>
    host.exec(`setpriv --reuid azp-agent-two --regid azp-agent-two --clear-groups ${command}`, {
      allowFailure: true,
    });
  for (const above of ['/var/lib/azp-fleet-agents', '/var/lib', '/'])
    expect((await as(`ls ${above}`)).code, above).toBe(0);
  for (const path of ['', '/.credentials_rsaparams', '/_diag', '/home'])
    expect((await as(`ls /var/lib/azp-fleet-agents/one${path}`)).stderr).toContain('Permission denied');
  expect((await as('cat /var/lib/azp-fleet-agents/two/.credentials_rsaparams')).code).toBe(0);
});

test('what a killed agent left of a container job goes before the next; that of others stays', async () => {
  await managed.allIdle();
  // As the agent of another installation would have it: the same kind of label and names.
  await host.exec(`docker network create --label a1b2c3 vsts_network_0123456789abcdef0123456789abcdef
docker run -d --name job_other_a1b2c3 --label a1b2c3 -v /srv/meet:/__w/1 \
  --network vsts_network_0123456789abcdef0123456789abcdef ${image} sleep infinity`);
  const lost = await queue('one', 'sudo touch roots; touch mine; sleep 1000');
  const root = '/var/lib/azp-fleet-agents/one';
  await until('the job to be under way', async () => {
    const { code } = await host.exec(`test -e ${root}/_work/1/s/mine`, { allowFailure: true });
    return code === 0;
  });
  const left = (await inDocker()).split('\n').filter((name) => !name.includes('0123456789'));
  expect(left).toHaveLength(2);
  await host.exec('systemctl kill --kill-who=all -s KILL azp-fleet-agent-one');
  // The same path: only one that was cleared has nothing in it.
  const [next] = await managed.finished(await queue('one', 'ls -A; echo ran'));
  expect(next, await azure.control.log(next?.id ?? 0)).toMatchObject({ result: 'succeeded', log: 'ran\n' });
  await expect.poll(async () => (await managed.finished(lost))[0]?.result, settings).not.toBe('succeeded');
  await managed.allIdle();
  const { stdout } = await host.exec(
    "docker ps -a --format '{{.Names}}'; docker network ls --format '{{.Name}}'",
  );
  for (const name of left) expect(stdout).not.toContain(name.replace('/', ''));
  expect(stdout).toContain('job_other_a1b2c3');
  expect(stdout).toContain('vsts_network_0123456789abcdef0123456789abcdef');
  const journal = await host.exec('journalctl -u azp-fleet-manager -o cat --no-pager');
  expect(journal.stdout).toContain('removed leftovers of a container job in Docker');
});
