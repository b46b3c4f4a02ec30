// A job with `container:`. Real, as the agent's source has it: the refusal inside a container, the label by the agent's
// folder, what an earlier job left is removed by it, pull, network, the mounts by the agent's own paths, the options,
// Node from the mounted externals as the container's program, a user of the agent's uid, steps by `docker exec`, removal.
// All of it with the docker command against the host's engine. Stand-in: no logins, no services, no ports, one folder of
// Node, and a step is bash with a script from the work folder.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeUser } from './container-user.mjs';
import { docker, dockerMust, words } from './docker.mjs';
import { root } from './settings.mjs';

const node = '/__a/externals/node/bin/node';
const idle = `'${node}' -e 'setInterval(function(){}, 24 * 60 * 60 * 1000);'`;
const nodeLabel = 'com.azure.dev.pipelines.agent.handler.node.path';

/** The job's container, running; undefined for a job without one. `close` removes it. */
export async function openContainer(body, { workFolder }) {
  if (!body.jobContainer) return undefined;
  // A cancelled job's worker is told with its children; it removes the container all the same.
  process.on('SIGTERM', () => undefined);
  const wanted = body.resources.containers.find(
    ({ alias }) => alias.toLowerCase() === body.jobContainer.toLowerCase(),
  );
  refuseInside();
  const label = createHash('sha256').update(root.toLowerCase()).digest('hex').slice(0, 6);
  await dockerMust('Docker version', ['version', '--format', '{{.Server.APIVersion}}']);
  await removeStale(label);
  const { image, options, localimage } = wanted.properties;
  if (!isTrue(localimage)) await dockerMust('Docker pull', ['pull', image]);
  const network = `vsts_network_${randomUUID().replaceAll('-', '')}`;
  await dockerMust('Docker network create', ['network', 'create', '--label', label, network]);
  const name = `${wanted.alias}_${image.replaceAll(/\W/gu, '')}_${randomUUID().slice(0, 6)}`;
  let id;
  const close = async () => {
    process.stdout.write(`Stop and remove container: ${name}\n`);
    if (id !== undefined) await docker(['rm', '--force', id]);
    await docker(['network', 'rm', network]);
  };
  try {
    const [own] = await dockerMust('Docker inspect', [
      'inspect',
      `--format={{index .Config.Labels "${nodeLabel}"}}`,
      image,
    ]).catch(() => []);
    if (own) throw new Error(`the stand-in knows no node of an image's own: ${own}`);
    const made = ['--name', name, '--label', label, '--network', network, ...words(options)];
    const created = ['create', ...made, ...mounts(workFolder, wanted), image, 'bash', '-c', idle];
    id = (await dockerMust('Docker create', created)).at(-1);
    await dockerMust('Docker start', ['start', id]);
    await told(id);
    const user = await makeUser(id);
    return { close, spawn: (script, env) => step({ id, user, workFolder }, script, env) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The agent's paths would not be the host's. */
function refuseInside() {
  if (!existsSync('/proc/1/cgroup')) return;
  if (!/:\/docker\//iu.test(readFileSync('/proc/1/cgroup', 'utf8'))) return;
  throw new Error(
    'Container feature is not supported when agent is already running inside container. Please reference ' +
      'documentation (https://go.microsoft.com/fwlink/?linkid=875268)',
  );
}

async function removeStale(label) {
  const filter = ['--filter', `label=${label}`];
  const { lines } = await docker(['ps', '--all', '--quiet', '--no-trunc', ...filter]);
  for (const stale of lines) await docker(['rm', '--force', stale]);
  await docker(['network', 'prune', '--force', ...filter]);
}

/** Folders that are there beforehand, but for .taskkey's, are the agent's own; dockerd makes a missing one as root. */
function mounts(workFolder, { properties: { mapDockerSocket } }) {
  for (const each of ['1', '_temp', '_tasks', '_tool'])
    mkdirSync(join(workFolder, each), { recursive: true });
  const taskKey = join(workFolder, '.taskkey');
  if (!existsSync(taskKey)) writeFileSync(taskKey, '');
  const pairs = [
    ...(isTrue(mapDockerSocket) ? [['/var/run/docker.sock', '/var/run/docker.sock']] : []),
    [join(workFolder, '1'), '/__w/1'],
    [join(workFolder, '_temp'), '/__w/_temp'],
    [join(workFolder, '_tasks'), '/__w/_tasks'],
    [join(workFolder, '_tool'), '/__t'],
    [join(root, 'externals'), '/__a/externals', 'ro'],
    [taskKey, '/__w/.taskkey'],
  ];
  return pairs.flatMap((pair) => ['-v', pair.join(':')]);
}

/** One that does not run is only warned of; the job fails at what comes next. */
async function told(id) {
  const running = ['--filter', 'status=running', '--no-trunc', '--format', '{{.ID}} {{.Status}}'];
  const { lines } = await docker(['ps', '--all', '--filter', `id=${id}`, ...running]);
  if (lines.some((line) => line.startsWith(id))) return;
  await docker(['logs', '--details', id]);
  process.stdout.write(`##[warning]Docker container ${id} is not in running state.\n`);
}

function step({ id, user, workFolder }, script, env) {
  const name = `${randomUUID()}.sh`;
  writeFileSync(join(workFolder, '_temp', name), script);
  copyFileSync(join(root, 'bin', 'container-invoker.js'), join(workFolder, '_temp', 'invoker.js'));
  const where = ['-i', '-u', user.uid, '-w', user.home, id];
  const child = spawn('docker', ['exec', ...where, node, '/__w/_temp/invoker.js'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const environment = { ...env, AGENT_WORKFOLDER: '/__w', AGENT_CONTAINERID: id };
  child.stdin.end(
    JSON.stringify({ handler: 'bash', args: `/__w/_temp/${name}`, workDir: '/__w/1', environment }),
  );
  return child;
}

const isTrue = (value) => String(value).toLowerCase() === 'true';
