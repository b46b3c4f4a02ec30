// Debian's real docker.io with its plugins, Podman and podman-docker, from Debian's own archive, meet Docker's packages: those
// are the lab's stand-ins, with the vendor's names, dependencies and files, and Debian's engine in them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { dockerStep } from '../../../src/fleet/steps/docker/step.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { installOwn } from '../support/host-history.ts';
import { StackRun, desiredStack } from '../support/stack-run.ts';
import { described, removed } from '../support/described-plan.ts';

const prefix = 'engines';
let lab: Lab;
let docker: StackRun;
const host = (name: string): LabHost => lab.host(name);

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [
      { name: 'a', release: 'trixie', login: 'root' },
      { name: 'b', release: 'bookworm', login: 'sudo' },
    ],
  });
  docker = new StackRun(lab, [dockerStep]);
});
afterAll(() => removeLab(prefix));

/** Packages that are not configured yet, by name. */
const audit = async (name: string): Promise<string> => (await host(name).exec('dpkg --audit')).stdout;

const engine = async (name: string): Promise<string> =>
  (await host(name).exec("docker version --format '{{.Server.Version}}'; dpkg -S /usr/bin/docker")).stdout;

/** Carries out what a refusal says is to be done, up to what depends. */
async function followed(name: string, next: string | undefined): Promise<void> {
  const [, words = 'false'] = /^sudo apt-get (.+) if nothing needs Podman/.exec(next ?? '') ?? [];
  await host(name).exec(`DEBIAN_FRONTEND=noninteractive apt-get -qy ${words}`);
}

/** Installs Podman with Docker's command; returns what apt and dpkg print. */
async function bringPodmanDocker(name: string): Promise<{ readonly code: number; readonly said: string }> {
  const { code, stdout, stderr } = await host(name).exec(
    'DEBIAN_FRONTEND=noninteractive apt-get install -qy podman-docker',
    { allowFailure: true },
  );
  return { code, said: stdout + stderr };
}

const podmanRefused = expect.stringMatching(/^this is a Podman host/) as string;

describe('on Debian 13', () => {
  test("docker.io with its plugins goes for Docker's own, by name, and a Podman that ran on its runtime stays", async () => {
    await host('a').exec(installOwn('docker.io docker-cli docker-buildx docker-compose'));
    await host('a').exec(installOwn('podman'));
    const runtime = async (): Promise<string> => {
      const { stdout } = await host('a').exec(
        "podman --storage-driver vfs info --format '{{.Host.OCIRuntime.Package}}'",
      );
      return stdout;
    };
    expect(await runtime()).toMatch(/^runc_/);
    const desired = desiredStack(host('a'));
    expect(removed(await docker.ask(host('a'), desired))).toEqual([
      'docker.io',
      'containerd',
      'docker-buildx',
      'docker-cli',
      'docker-compose',
      'runc',
    ]);
    await docker.converge(host('a'), desired);
    expect(described(await docker.ask(host('a'), desired))).toEqual([]);
    const facts = await docker.facts(host('a'), desired);
    expect(facts.docker).toMatchObject({ active: true, podman: true });
    expect(await runtime()).toMatch(/^containerd\.io_/);
    const { stdout } = await host('a').exec('dpkg -S /usr/libexec/docker/cli-plugins/docker-buildx');
    expect(stdout).toContain('docker-buildx-plugin:');
  });

  test("podman-docker, which has Docker's command, does not take it away again", async () => {
    const { code, said } = await bringPodmanDocker('a');
    expect(code).not.toBe(0);
    expect(said).toContain('podman-docker : Conflicts: docker-ce-cli');
    expect(said).toMatch(/held/i);
    expect(described(await docker.ask(host('a'), desiredStack(host('a'))))).toEqual([]);
  });

  test('podman-docker that was installed by hand is refused by name; Docker is installed again after its removal', async () => {
    const desired = desiredStack(host('a'));
    await host('a').exec('apt-mark unhold docker-ce docker-ce-cli');
    // Docker and its command go, and docker-compose, which is installed with it, has a file of the plugin's package.
    const { said } = await bringPodmanDocker('a');
    expect(said).toMatch(/packages will be REMOVED:\n {2}docker-ce docker-ce-cli\n/);
    expect(said).toMatch(
      /trying to overwrite .*docker-compose', which is also in package docker-compose-plugin/,
    );
    expect(await audit('a')).toContain('podman-docker');

    const { refusals } = await docker.ask(host('a'), desired);
    expect(refusals).toMatchObject([{ what: podmanRefused }]);
    await followed('a', refusals[0]?.next);
    await docker.converge(host('a'), desired);
    expect(described(await docker.ask(host('a'), desired))).toEqual([]);
    expect(await engine('a')).toMatch(/^26\.1\..*\ndocker-ce-cli: \/usr\/bin\/docker\n$/);
    expect(await audit('a')).toBe('');
  });
});

describe('on Debian 12', () => {
  test('a Podman host without Docker is refused and unchanged, and gets Docker after Podman is removed as the message says', async () => {
    const desired = desiredStack(host('b'));
    await host('b').exec(installOwn('podman podman-docker'));
    const { refusals } = await docker.ask(host('b'), desired);
    expect(refusals).toMatchObject([{ what: podmanRefused }]);
    await followed('b', refusals[0]?.next);
    await docker.converge(host('b'), desired);
    expect(described(await docker.ask(host('b'), desired))).toEqual([]);
    expect(await engine('b')).toMatch(/^20\.10\..*\ndocker-ce-cli: \/usr\/bin\/docker\n$/);
  });

  test('podman-docker of Debian 12, of whose conflict apt does not know, breaks dpkg off: Docker keeps it, the next change fixes the rest', async () => {
    const { code, said } = await bringPodmanDocker('b');
    expect(code).not.toBe(0);
    expect(said).toMatch(/trying to overwrite '\/usr\/bin\/docker', which is also in package docker-ce-cli/);
    expect(await audit('b')).toContain('podman');
    expect(described(await docker.ask(host('b'), desiredStack(host('b'))))).toEqual([]);
    expect(await engine('b')).toMatch(/docker-ce-cli: \/usr\/bin\/docker\n$/);

    const stack = new StackRun(lab);
    await stack.converge(host('b'), desiredStack(host('b')));
    expect(await audit('b')).toBe('');
    expect(described(await stack.ask(host('b'), desiredStack(host('b'))))).toEqual([]);
  });
});
