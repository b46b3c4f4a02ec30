import { startConnectProxy } from '../connect-proxy.ts';
import { closedPort } from './other-ports.ts';
import type { Helper, Mistake } from './mistake.ts';
import { secureServer } from './secure-server.ts';
import type { World } from './world.ts';

const typed = 'pool create --yes';
const url = (world: World) => `organization: ${world.azure.organization}`;
const helper = (who: string, asked: RegExp, does: string, carry: Helper['carry']): Helper => ({
  who,
  asked,
  does,
  carry,
});

/** The address of the organization, and the network path. */
export const networkMistakes: readonly Mistake[] = [
  {
    name: 'the organization by its name alone',
    make: (world) => world.edit(url(world), 'organization: lab'),
    typed,
    place: 'inventory.yaml:1:15',
    by: helper('ann', /^copy the address that the browser shows/, 'does so', (world) =>
      world.edit('organization: lab', url(world)),
    ),
  },
  {
    name: 'the page of a project in place of the organization',
    make: (world) => world.edit(url(world), 'organization: https://dev.azure.com/example/vision'),
    typed: 'inventory check',
    place: 'inventory.yaml:1:15',
    by: helper(
      'ann',
      /^write (https:\S+), and name projects under "projects:"$/,
      'does so',
      (world, [, right = '']) => world.edit('https://dev.azure.com/example/vision', right),
    ),
  },
  {
    name: 'the organization is misspelt',
    make: (world) => world.edit('/lab\n', '/labb\n'),
    typed,
    place: 'http://127.0.0.1:22222/labb',
    by: helper('ann', /^correct "organization:" in the inventory/, 'writes the right name', (world) =>
      world.edit('/labb\n', '/lab\n'),
    ),
  },
  {
    name: 'nothing listens at the address of the server',
    make: async (world) => world.edit(url(world), `organization: http://127.0.0.1:${await closedPort()}/lab`),
    typed,
    place: 'http://127.0.0.1:22222/lab',
    by: helper('ann', /"organization:"/, 'writes the right address', (world) =>
      world.write('inventory.yaml', world.read('inventory.yaml').replace(/^organization: .*$/m, url(world))),
    ),
  },
  {
    name: 'the name of the server is misspelt',
    make: (world) => world.edit('http://127.0.0.1:', 'http://devops.lab.invalid:'),
    typed,
    place: 'http://devops.lab.invalid:',
    by: helper('ann', /"organization:"/, 'writes the right name', (world) =>
      world.edit('devops.lab.invalid', '127.0.0.1'),
    ),
  },
  {
    name: 'a sign-in page answers instead of Azure DevOps',
    make: (world) => world.control.fail({ count: 99, status: 203 }),
    typed,
    place: 'http://127.0.0.1:22222/lab',
    by: helper(
      'ann in a browser',
      /a new one, .* is made at (\S+)\/_usersSettings\/tokens$/,
      'makes a token there',
      (world) => world.control.clearFaults(),
    ),
  },
  {
    name: 'a page of the network instead of Azure DevOps',
    make: (world) => world.control.fail({ count: 99, status: 511 }),
    typed,
    place: 'http://127.0.0.1:22222/lab',
    by: helper(
      'ann in a browser',
      /^log in to this network in a browser/,
      'logs in to the network',
      (world) => world.control.clearFaults(),
    ),
  },
  {
    name: 'the organization was not used for long',
    make: (world) => world.control.fail({ count: 99, deactivated: true }),
    typed,
    place: 'http://127.0.0.1:22222/lab',
    by: helper(
      'the owner in a browser',
      /^sign in to \S+ in a browser as its owner and activate it/,
      'does so',
      (world) => world.control.clearFaults(),
    ),
  },
  {
    name: 'the proxy is misspelt',
    make: async (world) =>
      world.edit('projects:', `proxy: { http: "http://127.0.0.1:${await closedPort()}" }\nprojects:`),
    typed,
    place: '127.0.0.1:22222',
    by: helper('ann', /^correct "proxy:" in the inventory/, 'writes the right port', async (world) => {
      const { hostname: host, port } = new URL(world.azure.origin);
      const proxy = await startConnectProxy('127.0.0.1', () => ({ host, port: Number(port) }));
      world.onEnd(() => proxy.close());
      world.write(
        'inventory.yaml',
        world.read('inventory.yaml').replace(/http: "[^"]*"/, `http: "http://${proxy.address}"`),
      );
    }),
  },
  {
    name: 'the proxy requires a password',
    make: async (world) => {
      const { hostname: host, port } = new URL(world.azure.origin);
      let open = false;
      const proxy = await startConnectProxy('127.0.0.1', () => (open ? { host, port: Number(port) } : 407));
      world.onEnd(() => proxy.close());
      world.notes.set('open', () => (open = true));
      world.edit('projects:', `proxy: { http: "http://${proxy.address}" }\nprojects:`);
    },
    typed,
    place: '127.0.0.1:22222',
    by: helper(
      'the administrator of the proxy',
      /^allow this machine on the proxy/,
      'lets this machine through without one',
      (world) => world.notes.get('open')?.(),
    ),
  },
  {
    name: 'the certificate of the server is of the site’s own authority',
    make: async (world) => world.edit(url(world), `organization: ${await secureServer(world, 'ca.pem', '')}`),
    typed,
    place: 'https://localhost:22222/lab',
    by: helper('ann', /^name the PEM file of .*: "ca: FILE"$/, 'writes ca: ca.pem', (world) =>
      world.edit('projects:', 'ca: ca.pem\nprojects:'),
    ),
  },
  {
    name: 'the clock of this machine is wrong',
    make: async (world) =>
      world.edit(url(world), `ca: ca.pem\norganization: ${await secureServer(world, 'ca.pem', 'past')}`),
    typed,
    place: 'https://localhost:22222/lab',
    by: helper('ann', /clock/, 'sets the clock', (world) => world.notes.get('valid')?.()),
  },
  {
    name: 'the file of the authority is not there',
    make: (world) => world.edit('projects:', 'ca: ca.pem\nprojects:'),
    typed,
    place: '/home/ann.keller/ca.pem',
    by: helper(
      'ann',
      /^correct "ca:" in the inventory, or copy the file there$/,
      'puts the file there',
      (world) => secureServer(world, 'ca.pem', ''),
    ),
  },
];

/** Pools and projects. */
export const poolMistakes: readonly Mistake[] = [
  {
    name: 'no pool',
    make: (world) => world.edit('  pool: gpu-lab\n', ''),
    typed: 'inventory check',
    place: 'inventory.yaml:',
    by: helper('ann', /^add `pool: NAME` under `defaults:`$/, 'writes pool: gpu-lab', (world) =>
      world.edit('  user: ann\n', '  user: ann\n  pool: gpu-lab\n'),
    ),
  },
  {
    name: 'a pool with a slash in its name',
    make: (world) => world.edit('pool: gpu-lab', 'pool: gpu/lab'),
    typed: 'inventory check',
    place: 'inventory.yaml:7:9',
    by: helper('ann', /^replace it with an expected value$/, 'writes gpu-lab', (world) =>
      world.edit('gpu/lab', 'gpu-lab'),
    ),
  },
  {
    name: 'the pool of Microsoft’s machines',
    make: (world) => world.edit('pool: gpu-lab', 'pool: Azure Pipelines'),
    typed: 'inventory check',
    place: 'inventory.yaml:7:9',
    by: helper('ann', /^replace it with an expected value$/, 'writes gpu-lab', (world) =>
      world.edit('Azure Pipelines', 'gpu-lab'),
    ),
  },
  {
    name: 'a pool is misspelt',
    make: (world) => world.type('pool create --yes'),
    typed: 'pool list gpu-lap',
    place: 'gpu-lap',
  },
  {
    name: 'a project that does not exist',
    make: async (world) => {
      await world.type('pool create --yes');
      world.edit('[vision]', '[visoin]');
    },
    typed: 'pool authorize --yes',
    place: 'visoin',
    by: helper('ann', /^check "projects:" in the inventory/, 'writes vision', (world) =>
      world.edit('[visoin]', '[vision]'),
    ),
  },
  {
    name: 'the project is missing',
    make: async (world) => {
      await world.type('pool create --yes');
      world.edit('projects: [vision]\n', '');
    },
    typed: 'pool authorize --yes',
    place: 'project',
    by: helper(
      'ann',
      /^add --project NAME, or "projects:" to the inventory$/,
      'adds --project vision',
      (world) => {
        world.typed = `${world.typed} --project vision`;
      },
    ),
  },
];
