// A job with `container:`. Real, as in the agent's source: the refusal inside a container, the label by the agent's
// folder, the removal of an earlier job's containers, pull, network, the mounts by the agent's own paths, the options,
// Node from the mounted externals as the container's program, a user of the agent's uid, steps by `docker exec`, removal.
// All of it with the docker command against the host's engine. Stand-in: no logins, no services, no ports, one Node in its
// folders, which runs in every image.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeUser } from './container-user.mjs';
import { Docker, words } from './docker.mjs';
import { root } from './settings.mjs';

const node = '/__a/externals/node/bin/node';
const idle = `'${node}' -e 'setInterval(function(){}, 24 * 60 * 60 * 1000);'`;
const nodeLabel = 'com.azure.dev.pipelines.agent.handler.node.path';

/** Starts the container in which the steps of a job run; `close` removes it. */
export async function openContainer(body, { workFolder }, say) {
  const docker = new Docker(say);
  const container = body.resources.containers.find(
    ({ alias }) => alias.toLowerCase() === body.jobContainer.toLowerCase(),
  );
  refuseInside();
  const label = createHash('sha256').update(root.toLowerCase()).digest('hex').slice(0, 6);
  for (const side of ['Server', 'Client'])
    await docker.must('Docker version', ['version', '--format', `{{.${side}.APIVersion}}`]);
  await removeStale(docker, label);
  const { image, options, localimage } = container.properties;
  if (!isTrue(localimage)) await docker.must('Docker pull', ['pull', image]);
  await docker.run(['info', '-f', '{{range .Plugins.Network}}{{println .}}{{end}}']);
  const network = `vsts_network_${randomUUID().replaceAll('-', '')}`;
  await docker.must('Docker network create', ['network', 'create', '--label', label, network]);
  // The letters, digits and "_" of the image's name, from the first letter on.
  const name = `${container.alias}_${image.replaceAll(/\W|^[^a-z]+/giu, '')}_${randomUUID().slice(0, 6)}`;
  let id;
  const close = async (report) => {
    report(`Stop and remove container: ${name}`);
    const end = new Docker(report);
    if (id !== undefined) await end.run(['rm', '--force', id]);
    await end.run(['network', 'rm', network]);
  };
  try {
    const [own] = await docker
      .must('Docker inspect', ['inspect', `--format={{index .Config.Labels "${nodeLabel}"}}`, image])
      .catch(() => []);
    if (own) throw new Error(`the stand-in knows no node of an image's own: ${own}`);
    const made = ['--name', name, '--label', label, '--network', network, ...words(options)];
    const created = ['create', ...made, ...mounts(workFolder, container), image, 'bash', '-c', idle];
    id = (await docker.must('Docker create', created)).at(-1);
    await docker.must('Docker start', ['start', id]);
    await warnIfStopped(docker, id, say);
    const user = await makeUser(docker, id, say);
    say(`Container setup complete: ${container.alias}`);
    return { close, spawn: (_, args, options_) => step({ id, user, workFolder }, args, options_) };
  } catch (error) {
    await close(say);
    throw error;
  }
}

/** Throws inside a container: the agent's paths would not be the host's. */
function refuseInside() {
  if (!existsSync('/proc/1/cgroup')) return;
  if (!/:\/docker\//iu.test(readFileSync('/proc/1/cgroup', 'utf8'))) return;
  throw new Error(
    'Container feature is not supported when agent is already running inside container. Please reference ' +
      'documentation (https://go.microsoft.com/fwlink/?linkid=875268)',
  );
}

async function removeStale(docker, label) {
  const filter = ['--filter', `label=${label}`];
  const { lines } = await docker.run(['ps', '--all', '--quiet', '--no-trunc', ...filter]);
  for (const stale of lines) await docker.run(['rm', '--force', stale]);
  await docker.run(['network', 'prune', '--force', ...filter]);
}

/** Creates the agent's folders, except .taskkey's: dockerd would create a missing one as root. */
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

/** Warns if the container does not run; the job fails at the next command. */
async function warnIfStopped(docker, id, say) {
  const running = ['--filter', 'status=running', '--no-trunc', '--format', '{{.ID}} {{.Status}}'];
  const { lines } = await docker.run(['ps', '--all', '--filter', `id=${id}`, ...running]);
  if (lines.some((line) => line.startsWith(id))) return;
  await docker.run(['logs', '--details', id]);
  say(`##[warning]Docker container ${id} is not in running state.`);
}

/** Runs a task in the container with its Node; the agent's paths become those inside. */
function step({ id, user, workFolder }, [target], { cwd, env }) {
  const inside = (text) =>
    text.replace(join(workFolder, '_tool'), '/__t').replace(workFolder, '/__w').replace(root, '/__a');
  const environment = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, inside(value)]));
  copyFileSync(join(root, 'bin', 'container-invoker.js'), join(workFolder, '_temp', 'invoker.js'));
  const where = ['-i', '-u', user.uid, '-w', user.home, id];
  const child = spawn('docker', ['exec', ...where, node, '/__w/_temp/invoker.js'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const message = { handler: node, args: inside(target), workDir: inside(cwd) };
  child.stdin.end(JSON.stringify({ ...message, environment: { ...environment, AGENT_CONTAINERID: id } }));
  return child;
}

const isTrue = (value) => String(value).toLowerCase() === 'true';
