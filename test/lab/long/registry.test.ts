// A registry that asks for a password, and a team's Dockerfile: one host builds the image and pushes it, another pulls it.
// Real: Debian's docker-registry over TLS, Docker Engines of two releases, CLI and managers. Stand-ins: Azure DevOps, the
// agent's program, the CUDA base.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { network, ports } from '../../../practice/lab/paths.ts';
import { type ProvisionedFleet, provisionedFleet } from '../../../practice/lab/provisioned.ts';
import { type Output, run } from '../../../practice/lab/run.ts';
import { ensureService, stopService } from '../../../practice/lab/services.ts';
import { caCertificate, registryTls } from '../../../practice/lab/tls.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';
import { filesWith, placesOnHost, processesDuring } from '../support/secret-search.ts';

const password = 'open-sesame-of-the-registry';
const wrong = 'shut-sesame-of-the-registry';

let fleet: ProvisionedFleet;
let registry: PasswordRegistry;
let builder: ManagedHost;
let other: ManagedHost;
let inventory: string;

beforeAll(async () => {
  fleet = await provisionedFleet();
  const { lab, azure } = fleet;
  builder = new ManagedHost(lab.host('hook'), azure);
  other = new ManagedHost(lab.host('cdi'), azure);
  mkdirSync(join(lab.folder, 'vision/data'), { recursive: true });
  registry = await startPasswordRegistry(lab.folder, password);
  for (const { host } of [builder, other]) await registry.trustOn(host);
  const push = `${registry.address}/vision/agent`;
  const dockerfile = { folder: 'vision', builder: 'hook', push };
  inventory = await writeInventory(lab, azure, {
    file: join(lab.folder, 'registry.yaml'),
    hosts: { hook: { dockerfile }, cdi: { dockerfile } },
    top: {
      registries: { [registry.address]: { user: registry.user, secret: { file: 'registry-password' } } },
    },
  });
  writeFolder('one');
});
afterAll(async () => {
  await builder.endHeldJobs();
  const { code, stdout, stderr } = await provision(fleet.inventory);
  await registry.stop();
  expect(code, `${stdout}${stderr}`).toBe(0);
});

/** The end of the Dockerfile says nothing true about how an agent is started: the manager does not rely on it. */
function writeFolder(content: string): void {
  const folder = join(fleet.lab.folder, 'vision');
  writeFileSync(join(folder, 'data/vision.txt'), `${content}\n`);
  writeFileSync(join(folder, 'notes.md'), 'for people\n');
  writeFileSync(join(folder, '.dockerignore'), '*.md\n');
  writeFileSync(
    join(folder, 'Dockerfile'),
    [
      'ARG BASE',
      'FROM ${BASE}',
      'USER root',
      'COPY . /opt/vision',
      'RUN test ! -e /opt/vision/notes.md && test "$(id -u)" = 0',
      'ENTRYPOINT ["/bin/false"]',
      '',
    ].join('\n'),
  );
}

function setPassword(text: string): void {
  writeFileSync(join(fleet.lab.folder, 'registry-password'), `${text}\n`, { mode: 0o600 });
}

const provision = (file: string, ...options: readonly string[]): Promise<Output> =>
  azpFleet(fleet.lab.folder, ['provision', file, '--limit', 'hook,cdi', '--yes', ...options]);

/** A job on this agent that succeeds when its image holds this content, and it runs as the agent's user. */
async function findsIn(agent: string, content: string): Promise<string | undefined> {
  const script = `grep -qx ${content} /opt/vision/data/vision.txt && [ "$(id -un):$(id -g)" = agent:4000 ] && [ "$(id -u)" -ge 59000 ]`;
  const demands = [`Agent.Name -equals ${agent}`];
  const [job] = await builder.finished(await fleet.azure.control.queue({ pool, script, demands }));
  return job?.result;
}

test('a wrong password is reported, with registry, user and image', async () => {
  setPassword(wrong);
  const { code, stdout, stderr } = await provision(inventory, '--no-probe');
  const said = `${stdout}${stderr}`;
  expect(code, said).toBe(1);
  const refusal = `${registry.address} rejected the password of user ci: ${registry.address}/vision/agent:`;
  expect(said.replaceAll(/\s+/g, ' ')).toContain(refusal);
  const images = await Promise.all([builder, other].map(async (host) => (await host.status()).image));
  expect(images).toMatchObject([
    { state: 'failed', cause: expect.stringContaining(refusal) as string },
    { state: 'failed', cause: expect.stringContaining(refusal) as string },
  ]);
  expect(said).not.toContain(wrong);
});

test('with the right one the image is built and pushed by one host, pulled by the other, and runs jobs', async () => {
  setPassword(password);
  const plan = await azpFleet(fleet.lab.folder, ['plan', inventory, '--limit', 'hook,cdi', '--show-scripts']);
  expect(plan.stdout).toContain(`store the passwords of registries (root only): ${registry.address}`);
  const secrets = await processesDuring(password, async () => {
    const { code, stdout, stderr } = await provision(inventory);
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(`${plan.stdout}${plan.stderr}${stdout}${stderr}`).not.toContain(password);
  });
  expect(secrets).toEqual([]);
  const [built, pulled] = [(await builder.status()).image, (await other.status()).image];
  expect(built.pushed).toMatch(/\/vision\/agent@sha256:[0-9a-f]{64}$/);
  expect(pulled).toMatchObject({ state: 'ready', digest: built.digest });
  expect(pulled.reference).toMatch(/\/vision\/agent:5\.279\.0-x64-[0-9a-f]{12}$/);
  expect(await Promise.all(['hook-0', 'cdi-0'].map((agent) => findsIn(agent, 'one')))).toEqual([
    'succeeded',
    'succeeded',
  ]);
});

test.each(['hook', 'cdi'])('on %s the password is in one file for root, and nowhere else', async (name) => {
  const host = fleet.lab.host(name);
  expect(await placesOnHost(host, password)).toEqual(['file /etc/azp-fleet/registries 600 root']);
  expect(await placesOnHost(host, wrong)).toEqual([]);
  expect(filesWith(fleet.lab.folder, password)).toEqual([
    `${join(fleet.lab.folder, 'registry-password')} 600`,
  ]);
});

test('a changed folder is rolled: a running job ends first', async () => {
  writeFolder('two');
  const held = await builder.holdJob('hook-0');
  const { code, stdout, stderr } = await provision(inventory);
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect(stdout).toContain('build the image of vision on top of agent image 5.279.0');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('the folder has changed (3 files,');
  await expect.poll(() => findsIn('cdi-0', 'two'), settings).toBe('succeeded');
  expect(await held.end()).toMatchObject({ result: 'succeeded' });
  await builder.allIdle();
  expect(await findsIn('hook-0', 'two')).toBe('succeeded');
});

test('a registry that is no longer in the inventory is forgotten by the hosts', async () => {
  const { code, stdout, stderr } = await provision(fleet.inventory, '--no-probe');
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect(stdout).toContain('remove the passwords of registries');
  expect(await placesOnHost(builder.host, password)).toEqual([]);
  expect((await builder.host.exec('ls /var/lib/azp-fleet/folders')).stdout).toBe('');
});

const name = 'password-registry';

/** Debian's docker-registry over TLS, which asks everybody who they are. */
interface PasswordRegistry {
  /** `10.213.0.1:5444`, as images name it. */
  readonly address: string;
  readonly user: string;
  readonly password: string;
  /** The host's Docker trusts its certificate. */
  trustOn(host: LabHost): Promise<void>;
  stop(): Promise<void>;
}

/** A new one, whose images lie in the folder. */
async function startPasswordRegistry(folder: string, password: string): Promise<PasswordRegistry> {
  const user = 'ci';
  const address = `${network.gateway}:${ports.passwordRegistry}`;
  const htpasswd = join(folder, 'htpasswd');
  writeFileSync(htpasswd, `${user}:${await bcrypt(password)}\n`, { mode: 0o600 });
  const config = {
    version: 0.1,
    log: { level: 'warn' },
    storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
    auth: { htpasswd: { realm: 'lab', path: htpasswd } },
    http: { addr: address, tls: registryTls },
  };
  const file = join(folder, 'registry.json');
  writeFileSync(file, JSON.stringify(config));
  await stopService(name);
  await ensureService({
    name,
    command: '/usr/bin/docker-registry',
    args: ['serve', file],
    port: ports.passwordRegistry,
  });
  return {
    address,
    user,
    password,
    trustOn: async (host) => {
      const { stdout: ca } = await run('cat', [caCertificate]);
      const folder = `/etc/docker/certs.d/${address}`;
      await host.exec(`mkdir -p ${folder} && cat >${folder}/ca.crt`, { input: ca });
    },
    stop: () => stopService(name),
  };
}

/** The one form of a password that the registry takes. Perl is on every Debian, and its crypt() knows bcrypt. */
async function bcrypt(password: string): Promise<string> {
  const script = 'chomp(my $p = <STDIN>); print crypt($p, q($2y$05$abcdefghijklmnopqrstuu))';
  const { stdout } = await run('perl', ['-e', script], { input: `${password}\n` });
  return stdout;
}
