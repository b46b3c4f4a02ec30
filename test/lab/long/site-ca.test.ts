// A site with its own certificate authority: Azure DevOps and git speak TLS by it, a container and an agent straight
// on the host must trust it, and git's server is reached through the proxy, too. git, TLS, the proxy, Docker and systemd
// are real; GPUs, the agent's program and Azure DevOps are stand-ins.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import type { Server as TlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startConnectProxy, type ConnectProxy } from '../../support/connect-proxy.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { network } from '../../../practice/lab/paths.ts';
import { run } from '../../../practice/lab/run.ts';
import { makeCertificates, startTls } from '../../../practice/lab/tls.ts';
import { ManagedHost } from '../support/managed-host.ts';

const prefix = 'siteca';
const gitName = 'git.lab.invalid';
const agents = [
  { name: 'box', gpus: [0] },
  { name: 'bare', gpus: [1], mode: 'host', capabilities: ['compute'] },
];

let lab: Lab;
let azure: LabAzure;
let managed: ManagedHost;
let organization: string;
let proxy: ConnectProxy;
let gitPort: number;
const plain: Server[] = [];
const secure: TlsServer[] = [];

beforeAll(async () => {
  lab = await startLab({ prefix, hosts: [{ name: 'h', release: 'trixie', gpus: ['h200', 'h200'] }] });
  await makeCertificates(lab.folder, [`DNS:${gitName}`, `IP:${network.gateway}`]);
  const inner = { hostname: network.gateway, port: 0 };
  organization = `https://${network.gateway}:${await tlsBefore(inner)}/lab`;
  azure = await startAzure(prefix, lab.folder, { speed: 20, publicUrl: organization });
  inner.port = Number(new URL(azure.organization).port);
  managed = new ManagedHost(lab.host('h'), azure);
  gitPort = await tlsBefore(await startGit());
  proxy = await startConnectProxy(network.gateway, ({ target }) =>
    target === `${gitName}:443` ? { host: network.gateway, port: gitPort } : 403,
  );
  await lab
    .host('h')
    .exec('apt-get update -qq && apt-get install -qq -y --no-install-recommends git >/dev/null');
  await provision({});
});
afterAll(async () => {
  await proxy.close();
  for (const server of [...plain, ...secure]) server.close();
  await removeLab(prefix);
});

async function tlsBefore(inner: { hostname: string; port: number }): Promise<number> {
  const { server, port } = await startTls(lab.folder, network.gateway, inner);
  secure.push(server);
  return port;
}

/** A bare repository as files over HTTP, which is one of the ways that git itself clones. */
async function startGit(): Promise<{ hostname: string; port: number }> {
  const git = (...args: readonly string[]) =>
    run('git', ['-c', 'user.name=lab', '-c', 'user.email=lab@example', ...args], { cwd: lab.folder });
  await git('init', '-q', 'work');
  await git('-C', 'work', 'commit', '-q', '--allow-empty', '-m', 'first');
  await git('clone', '-q', '--bare', 'work', 'work.git');
  await git('-C', 'work.git', 'update-server-info');
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://git').pathname);
    readFile(join(lab.folder, path)).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    );
  });
  plain.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { hostname: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

async function provision(defaults: Readonly<Record<string, unknown>>, slots = agents): Promise<void> {
  const inventory = await writeInventory(lab, azure, {
    hosts: { h: { agents: slots } },
    defaults,
    top: {
      organization,
      proxy: { https: `http://${proxy.address}`, noProxy: [network.gateway] },
      ca: 'ca.crt',
    },
  });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
}

async function clones(slot: 'box' | 'bare', states = 'idle idle'): Promise<void> {
  await managed.are(states);
  const before = proxy.requests.length;
  // The host itself trusts the site, too; a container trusts only that file.
  const refusal = `https_proxy= GIT_SSL_CAINFO=/etc/hostname git ls-remote https://${network.gateway}:${gitPort}/work.git 2>/dev/null || echo 'refused without'`;
  const [job] = await managed.finished(
    await managed.queue(
      `set -e
git clone -q https://${gitName}/work.git proxied
git clone -q https://${network.gateway}:${gitPort}/work.git direct
git -C proxied log --format=%s; git -C direct log --format=%s
cat "$AGENT_WORKFOLDER/../.certificates"; echo
cat "$AGENT_WORKFOLDER/../.proxy"
# git uses this file instead of its default: the system's authorities must be in it.
test "$(grep -c BEGIN "$GIT_SSL_CAINFO")" -gt 50 && echo 'many authorities'
${slot === 'box' ? refusal : ''}`,
      1,
      [`Agent.Name -equals h-${slot}`],
    ),
  );
  const root = slot === 'box' ? '/azp' : '/var/lib/azp-fleet-agents/bare';
  expect(job?.log.trim().split('\n')).toEqual([
    'first',
    'first',
    `{"caCert":"${root}/ca-bundle.pem"}`,
    `http://${proxy.address}`,
    'many authorities',
    ...(slot === 'box' ? ['refused without'] : []),
  ]);
  expect(proxy.requests.slice(before).map(({ target }) => target)).toContain(`${gitName}:443`);
}

describe('git clones by the certificates of the site, directly and through the proxy', () => {
  test('in a container', () => clones('box'));
  test('straight on the host', () => clones('bare'));
});

test('config.sh registers at a server with such a certificate', async () => {
  // A slot straight on the host has no image in which config.sh could run: the two together are refused.
  const inContainers = agents.filter(({ name }) => name === 'box');
  await provision({ registration: 'config' }, inContainers);
  await clones('box', 'idle');
});
