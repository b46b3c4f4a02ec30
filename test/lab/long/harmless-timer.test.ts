// The timer of docs/gitops.md on a machine of the administrators, set up by the commands of that page. Real: systemd with the
// sandbox of the unit, git, Node, SSH, the package as `npm pack` makes it. Stand-ins: the GPU, Azure DevOps.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';

import { type LabAzure, startAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { docker } from '../../../practice/lab/engine.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { type Lab, removeLab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { packInto } from '../../package/packed.ts';
import { blocks } from '../../support/shown-commands.ts';

const prefix = 'timer';
const modules = '/usr/local/lib/node_modules';
const metrics = '/var/lib/prometheus/node-exporter/azp-fleet.prom';

interface Inventory {
  readonly hosts: Readonly<Record<string, unknown>>;
  readonly defaults: Readonly<Record<string, unknown>>;
}

let lab: Lab;
let azure: LabAzure;
let admin: LabHost;
let inventory: Inventory;

beforeAll(async () => {
  const hosts = ['a', 'admin'].map((name) => ({ name, release: 'bookworm', gpus: ['h200'] }) as const);
  lab = await startStackLab({ prefix, hosts });
  azure = await startAzure(prefix, lab.folder);
  admin = lab.host('admin');
  const file = await writeInventory(lab, azure, {
    defaults: { identityFile: '/var/lib/azp-fleet-admin/.ssh/id_ed25519' },
    top: { token: { env: 'AZP_TOKEN' } },
  });
  const all = parse(readFileSync(file, 'utf8')) as Inventory;
  inventory = { ...all, hosts: { a: all.hosts['a'] } };
  const own = join(lab.folder, 'own.yaml');
  writeFileSync(own, stringify({ ...inventory, defaults: { ...all.defaults, identityFile: lab.key } }));
  const env = { AZP_TOKEN: readFileSync(azure.tokenFile, 'utf8').trim() };
  const { code, stderr } = await azpFleet(lab.folder, ['provision', own, '--yes'], { env });
  expect(code, stderr).toBe(0);
  await installPackage();
});
afterAll(() => removeLab(prefix));

async function installPackage(): Promise<void> {
  const archive = await packInto(mkdtempSync(join(lab.folder, 'packed-')));
  await copy(process.execPath, '/usr/local/bin/node');
  await copy(archive, '/root/package.tgz');
  await copy(lab.key, '/root/id_ed25519');
  await admin.exec(`apt-get -q update && apt-get -q -y --no-install-recommends install git
mkdir -p ${modules}/azp-fleet && tar -xzf /root/package.tgz -C ${modules}/azp-fleet --strip-components=1
ln -s ${modules}/azp-fleet/bin/azp-fleet.js /usr/local/bin/azp-fleet
git init -q --bare -b main /srv/fleet.git && git clone -q /srv/fleet.git /root/fleet`);
}

const copy = (from: string, to: string) => docker(['cp', from, `${admin.container}:${to}`]);

/** Commits an inventory, as a reviewed pull request does. */
async function push(defaults: object): Promise<void> {
  const file = join(lab.folder, 'pushed.yaml');
  writeFileSync(file, stringify({ ...inventory, defaults: { ...inventory.defaults, ...defaults } }));
  await copy(file, '/root/fleet/inventory.yaml');
  await admin.exec(`cd /root/fleet && git add inventory.yaml
git -c user.name=lab -c user.email=lab@example.com commit -q -m inventory && git push -q origin HEAD:main`);
}

/** Starts the service and returns its result and its output. */
async function run(): Promise<{ readonly result: string; readonly output: string }> {
  await admin.exec('systemctl start azp-fleet-harmless', { allowFailure: true });
  const { stdout } = await admin.exec(
    `echo $(systemctl show --property=Result,ExecMainStatus --value azp-fleet-harmless)
journalctl --unit azp-fleet-harmless --no-pager --output=cat`,
  );
  const [result = '', ...output] = stdout.split('\n');
  return { result, output: output.join('\n') };
}

const left = async (): Promise<string> =>
  (await admin.exec(`runuser -u nobody -- grep '^azp_fleet_provision_left_changes' ${metrics}`)).stdout;

test('the page sets it up: the service reads a private clone and finds nothing to do', async () => {
  await push({});
  const [setUp = ''] = blocks('docs/gitops.md', 'sh');
  const commands = setUp
    .replace('https://git.lab.example/fleet.git', '/srv/fleet.git')
    .replace('$(npm root --global)', modules);
  await admin.exec(`cd /root && git config --system safe.directory '*'\n${commands}`);
  await admin.exec(`read -r AZP_TOKEN && echo "AZP_TOKEN=$AZP_TOKEN" >/etc/azp-fleet-admin/secrets`, {
    input: readFileSync(azure.tokenFile, 'utf8'),
  });
  const { result, output } = await run();
  expect(output).toContain('no changes');
  expect(result).toBe('success 0');
  expect(await left()).toMatch(/host="a"\} 0$/m);
  expect((await admin.exec('systemctl is-active azp-fleet-harmless.timer')).stdout.trim()).toBe('active');
});

test('what a commit changes is made if it disturbs nothing, and the rest is left and counted', async () => {
  await push({ capabilities: { site: 'lab-7' } });
  expect(await run()).toMatchObject({ result: 'success 0' });
  expect((await lab.host('a').exec('cat /etc/azp-fleet/manager.json')).stdout).toContain('lab-7');
  await push({ capabilities: { site: 'lab-7' }, driver: { branch: '595' } });
  const { result, output } = await run();
  expect(output).toMatch(/ changes? left: /);
  expect(result).toBe('success 3');
  expect(await left()).toMatch(/host="a"\} [1-9]\d*$/m);
});
