// The agent image built for real, by the classic builder of Docker 20.10 on a lab host. The CUDA base and the agent's
// program are stand-ins; packages come from Debian's archive.

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { ManagerStatus } from '../../../src/shared/contract/status.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import type { Output } from '../../../practice/lab/run.ts';

let fleet: ProvisionedFleet;
let standard: string;
beforeAll(async () => {
  fleet = await provisionedFleet();
  // Others may be there: what a team built on top in another test.
  const { stdout } = await onHost('cat /run/azp-fleet/status.json');
  standard = (JSON.parse(stdout) as ManagerStatus).image.digest ?? '';
});

afterAll(async () => {
  await onHost('docker rmi -f $(docker images -q --filter reference=azp-fleet-test)', true);
});

const onHost = (command: string, allowFailure = false): Promise<Output> =>
  fleet.lab.host('hook').exec(command, { allowFailure });

/** Builds from the context that `provision` brought to the host. */
function build(tag: string, args: Readonly<Record<string, string>>, options = ''): Promise<Output> {
  const list = Object.entries(args).map(([name, value]) => `--build-arg '${name}=${value}'`);
  return onHost(
    `cd /opt/azp-fleet/current/dockeragent && DOCKER_BUILDKIT=0 docker build ${options} -t ${tag} ${list.join(' ')} . 2>&1`,
    true,
  );
}

/** The arguments that the manager used, out of its configuration. */
async function agent(): Promise<{ AGENT_URL: string; AGENT_SHA256: string; AGENT_VERSION: string }> {
  const { stdout } = await onHost('cat /etc/azp-fleet/manager.json');
  const { image } = JSON.parse(stdout) as {
    image: { agentUrl: string; agentSha256: string; agentVersion: string };
  };
  return { AGENT_URL: image.agentUrl, AGENT_SHA256: image.agentSha256, AGENT_VERSION: image.agentVersion };
}

const inside = (image: string, script: string): Promise<Output> =>
  onHost(`docker run --rm --network none --entrypoint /bin/sh ${image} -c '${script}' 2>&1`, true);

test('jobs run as a separate user who cannot become root, and see only requested GPUs', async () => {
  const { stdout } = await inside(
    standard,
    'id -u; id -g; pwd; echo "$NVIDIA_VISIBLE_DEVICES"; sudo -n true 2>/dev/null || echo no root; git --version',
  );
  expect(stdout.split('\n')).toEqual([
    '4000',
    '4000',
    '/azp',
    'void',
    'no root',
    expect.stringContaining('git'),
    '',
  ]);
});

test('without its three files the container says who starts it', async () => {
  const { code, stdout } = await onHost(`docker run --rm --network none ${standard} 2>&1`, true);
  expect(code).toBe(78);
  expect(stdout).toContain('.agent is missing: this container is started by azp-fleet-manager');
});

/** Installs the test's own listener, stops the container and returns its output and its exit code. */
async function stopped(listener: string): Promise<string[]> {
  const script = [
    'set -e; d=$(mktemp -d); mkdir $d/bin; chmod 755 $d $d/bin',
    'cat >$d/bin/Agent.Listener',
    'chmod 755 $d/bin/Agent.Listener',
    'touch $d/.agent $d/.credentials $d/.credentials_rsaparams',
    `id=$(docker create --network none ${standard})`,
    'docker cp $d/. $id:/azp >/dev/null; docker start $id >/dev/null',
    'until docker logs $id 2>&1 | grep -q up; do sleep 0.1; done',
    'docker stop -t 20 $id >/dev/null; docker logs $id 2>&1; docker inspect -f "{{.State.ExitCode}}" $id',
    'docker rm $id >/dev/null; rm -r $d',
  ].join('\n');
  const { stdout } = await fleet.lab.host('hook').exec(script, { input: listener });
  return stdout.trim().split('\n');
}

test('a stop gives the listener the time to end its session, and its exit code comes through', async () => {
  const listener =
    '#!/bin/bash\ntrap "sleep 2; echo session ended; exit 5" INT\necho up\nwhile :; do sleep 0.1; done\n';
  expect(await stopped(listener)).toEqual(['up', 'session ended', '5']);
});

test('sudo, graphics and the Docker client are included if configured', async () => {
  const built = await build('azp-fleet-test:full', {
    BASE: standard,
    ...(await agent()),
    JOBS_SUDO: '1',
    GRAPHICS: '1',
    DOCKER_CLIENT: '1',
  });
  expect(built.stdout).toContain('Successfully tagged azp-fleet-test:full');
  const { stdout } = await inside(
    'azp-fleet-test:full',
    'sudo -n id -u 2>/dev/null; docker --version | cut -d" " -f-2; ldconfig -p | grep -oE "lib(EGL|vulkan)\\.so\\.1" | sort -u',
  );
  expect(stdout.split('\n')).toEqual(['0', 'Docker version', 'libEGL.so.1', 'libvulkan.so.1', '']);
});

test('a base that has everything is built without a network', async () => {
  const built = await build(
    'azp-fleet-test:offline',
    { BASE: standard, ...(await agent()) },
    '--network none',
  );
  expect(built.stdout).toContain('Successfully tagged azp-fleet-test:offline');
  expect(built.stdout).not.toContain('apt-get');
});

test('a tarball with another checksum is refused', async () => {
  const built = await build('azp-fleet-test:wrong', {
    BASE: standard,
    ...(await agent()),
    AGENT_SHA256: '0'.repeat(64),
  });
  expect(built.code).not.toBe(0);
  expect(built.stdout).toContain('WARNING: 1 computed checksum did NOT match');
});
