// The wizard on a real pseudo-terminal where a service principal is used behind a proxy, with certificates and mirrors of the
// site's own. Real: the command, sshds, a CONNECT proxy, TLS. Stand-in: what answers as Azure DevOps and Microsoft Entra.
import type { Server } from 'node:tls';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';

import { startConnectProxy, type ConnectProxy } from '../support/connect-proxy.ts';
import { requireCurrentBuild } from '../support/current-build.ts';
import type { Terminal } from '../../practice/lab/terminal.ts';
import { makeDesk, type Desk } from '../support/wizard-desk.ts';
import { makeCertificates, startTls } from '../../practice/lab/tls.ts';

const ids = ['00000000-0000-0000-0000-00000000000a', '00000000-0000-0000-0000-00000000000b'] as const;
const mirror = (name: string): string => `http://mirror.lab.example/${name}`;

let desk: Desk;
let terminal: Terminal;
let proxy: ConnectProxy;
let server: Server;

beforeAll(() => requireCurrentBuild(join(import.meta.dirname, '../..')));
beforeEach(async () => {
  desk = await makeDesk();
  await makeCertificates(desk.site, ['DNS:dev.azure.com', 'DNS:login.microsoftonline.com']);
  const { port } = new URL(desk.azure.origin);
  const tls = await startTls(desk.site, '127.0.0.1', { hostname: '127.0.0.1', port: Number(port) });
  server = tls.server;
  proxy = await startConnectProxy('127.0.0.1', ({ target }) =>
    /^(dev\.azure\.com|login\.microsoftonline\.com):443$/.test(target)
      ? { host: '127.0.0.1', port: tls.port }
      : 403,
  );
});
afterEach(async () => {
  terminal.close();
  await proxy.close();
  server.close();
  await desk.end();
});

const inventory = (): Readonly<Record<string, unknown>> =>
  parse(readFileSync(join(desk.folder, 'inventory.yaml'), 'utf8')) as Readonly<Record<string, unknown>>;
const written = () => ({
  organization: 'https://dev.azure.com/lab',
  servicePrincipal: { clientId: ids[0], tenantId: ids[1], secret: { file: desk.tokenFile } },
  proxy: {
    http: `http://${proxy.address}`,
    https: `http://${proxy.address}`,
    noProxy: ['localhost', '.lab.example'],
  },
  ca: join(desk.site, 'ca.crt'),
  mirrors: { docker: mirror('docker'), images: 'registry.lab.example' },
});

/** Replaces the preset answer and submits it. */
function type(text: string): void {
  terminal.press('C-u');
  terminal.type(text);
  terminal.press('Enter');
}

async function asked(question: string, text: string): Promise<void> {
  await terminal.see(`? ${question}`);
  type(text);
}

test('every question is answered, and the organization has been asked through all of it', async () => {
  terminal = desk.start('setup');
  await terminal.answer('Hosts from', 'Space', 'Enter');
  await terminal.answer('Others (user@', 'Enter');
  await asked('Azure DevOps organization', 'lab');
  await terminal.answer('Does internet access need a proxy', 'y', 'Enter');
  await asked('Proxy', `http://${proxy.address}`);
  await asked('Hosts without the proxy', 'localhost .lab.example');
  await asked('PEM file', desk.site);
  await terminal.see('cannot be read');
  type(join(desk.site, 'ca.crt'));
  await terminal.answer('Use mirrors', 'y', 'Enter');
  await asked("Mirror of NVIDIA's driver repository", '');
  await asked("Mirror of NVIDIA's .run files", '');
  await asked("Mirror of Docker's packages", mirror('docker'));
  for (const next of ['the container toolkit', 'EPEL', 'the Azure Pipelines agent', "Ubuntu's and Debian's"])
    await asked(`Mirror of ${next}`, '');
  await asked('Mirror of images instead of', 'https://registry.lab.example');
  await terminal.see('A registry, without https://');
  type('registry.lab.example');
  await asked('Mirror of npm packages', '');
  await terminal.see('? Where is the access token stored');
  terminal.press('Down', 'Down', 'Down', 'Down', 'Down', 'Enter');
  await asked('Application (client) id', 'my-app');
  await terminal.see('An ID such as');
  type(ids[0]);
  await asked('Directory (tenant) id', ids[1]);
  await terminal.see('? Where is the client secret stored');
  terminal.press('Down', 'Down', 'Enter');
  await asked('File:', desk.tokenFile);
  await terminal.see('✔ https://dev.azure.com/lab accepts');
  await asked('When does it expire', '2099-05-31');
  await terminal.answer('Projects that may use', 'Enter');
  await terminal.answer('Agent pool:', 'Enter');
  await terminal.answer('Agent pool (created', 'Enter');
  await terminal.answer('Agents on each host', 'Enter');
  await terminal.answer('Mounts of the hosts', 'Enter');
  await terminal.answer('Folders of the hosts', 'Enter');
  await terminal.answer('Write it to inventory.yaml', 'Enter');
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  const { servicePrincipal, ...rest } = written();
  expect(inventory()).toMatchObject({
    ...rest,
    servicePrincipal: { ...servicePrincipal, expires: '2099-05-31' },
  });
  expect(new Set(proxy.requests.map(({ target }) => target))).toEqual(
    new Set(['dev.azure.com:443', 'login.microsoftonline.com:443']),
  );
  const wide = terminal
    .history()
    .split('\n')
    .filter((line) => line.length > 80);
  expect(wide).toEqual([]);
});

test('the same from a file of answers, and nothing is asked', async () => {
  const answers = [
    'organization: lab',
    `network: { proxy: "http://${proxy.address}", noProxy: [localhost, .lab.example], ca: "${join(desk.site, 'ca.crt')}", mirrors: { docker: "${mirror('docker')}", images: registry.lab.example } }`,
    `principal: { clientId: ${ids[0]}, tenantId: ${ids[1]}, file: ${desk.tokenFile} }`,
    'hosts: [box-a]',
    'pool: gpu-lab',
  ];
  writeFileSync(join(desk.folder, 'answers.yaml'), `${answers.join('\n')}\n`);
  terminal = desk.start('setup --yes --answers answers.yaml');
  await terminal.see('[exit 0]');
  expect(inventory()).toMatchObject(written());
});
