// Ways to log in, and the settings that do not work with them.
import { describe, expect, test } from 'vitest';

import { parseFleet } from '../../../../../src/fleet/inventory/load.ts';
import { mistakesIn } from '../fixture.ts';

const services = 'organization: https://dev.azure.com/example\n';
const server = 'organization: https://tfs.lab.example/tfs/Engineering\n';
const hosts = 'hosts: { a: { pool: p } }\n';
const certificate = 'servicePrincipal: { clientId: c, tenantId: t, certificate: fleet.pem }\n';
const load = (text: string) => parseFleet(text, 'inventory.yaml', { env: {}, cwd: '/lab', home: '/home/me' });

describe('a certificate', () => {
  test('is a file beside the inventory', () => {
    expect(load(services + certificate + hosts).credential).toEqual({
      kind: 'service-principal',
      clientId: 'c',
      tenantId: 't',
      secret: { file: '/lab/fleet.pem' },
      proof: 'certificate',
    });
  });

  test('works with the practice server, which is Azure DevOps and Microsoft Entra ID at one address', () => {
    const practice = 'organization: http://192.0.2.1:8088/lab\n';
    const principal = certificate.replace('c,', 'c, authority: "http://192.0.2.1:8088",');
    expect(mistakesIn(practice + principal + hosts)).toEqual([]);
  });
});

const federation =
  'servicePrincipal: { clientId: c, tenantId: t, federation: { tokenFile: /run/id/token } }\n';
const own = 'token: { env: AZP_TOKEN }\n';

describe('a federated credential', () => {
  test('is for the managers; the token is for this machine', () => {
    const { credential, identity } = load(services + own + federation + hosts);
    expect(credential).toEqual({ kind: 'pat', token: { env: 'AZP_TOKEN' } });
    expect(identity).toEqual({
      kind: 'service-principal',
      proof: 'federation',
      clientId: 'c',
      tenantId: 't',
      tokenFile: '/run/id/token',
    });
  });
});

describe('a mistake', () => {
  test.each([
    [
      'a secret and a certificate',
      `${services}${certificate.replace('fleet.pem', 'fleet.pem, secret: { env: S }')}${hosts}`,
      'inventory.yaml:2:19: servicePrincipal has an invalid value\nexpected: an application with exactly one of secret, certificate, federation\nseen: keys clientId, tenantId, certificate, secret\nnext: replace it with an expected value',
    ],
    [
      'neither',
      `${services}servicePrincipal: { clientId: c, tenantId: t }\n${hosts}`,
      'inventory.yaml:2:19: servicePrincipal has an invalid value\nexpected: an application with exactly one of secret, certificate, federation\nseen: keys clientId, tenantId\nnext: replace it with an expected value',
    ],
    [
      'a certificate with Azure DevOps Server',
      server + certificate + hosts,
      'inventory.yaml:2:60: servicePrincipal.certificate does not work with Azure DevOps Server, which does not accept tokens of Microsoft Entra ID\nexpected: an organization of Azure DevOps Services\nseen: https://tfs.lab.example/tfs/Engineering\nnext: use `token:` for an Azure DevOps Server collection',
    ],
    [
      'a certificate with registration: config',
      `${services}${certificate}defaults: { pool: p, registration: config }\nhosts: { a: {}, b: {} }\n`,
      'inventory.yaml:3:36: a has registration: config, which does not support servicePrincipal.certificate (also: b)\nnext: use `registration: rest`, or a token or a client secret',
    ],
    [
      'a federated credential without a token for this machine',
      services + federation + hosts,
      'inventory.yaml:2:59: token is missing: servicePrincipal.federation is for the hosts, and this machine needs a separate credential\nexpected: where the token of this machine is found; no host gets it\nnext: add `token: { cmd: "az account get-access-token --resource 499b84ac-1321-427f-aa17-267ca6975798 --query accessToken -o tsv" }`, or a personal access token',
    ],
    [
      'a federated credential whose file has a relative path',
      services + own + federation.replace('/run/id/token', 'token') + hosts,
      'inventory.yaml:3:72: servicePrincipal.federation.tokenFile has an invalid value\nexpected: an absolute path\nseen: a literal value (not shown)\nnext: replace it with an expected value',
    ],
    [
      'a federated credential with Azure DevOps Server',
      server + own + federation + hosts,
      'inventory.yaml:3:59: servicePrincipal.federation does not work with Azure DevOps Server, which does not accept tokens of Microsoft Entra ID\nexpected: an organization of Azure DevOps Services\nseen: https://tfs.lab.example/tfs/Engineering\nnext: use `token:` for an Azure DevOps Server collection',
    ],
  ])('%s', (_, text, expected) => {
    expect(mistakesIn(text)).toEqual([expected]);
  });
});

describe('the identity of the machine', () => {
  const machine = 'managedIdentity: {}\n';
  test('implies that no job starts without network isolation', () => {
    const fleet = load(services + own + machine + hosts);
    expect(fleet.identity).toEqual({ kind: 'managed-identity' });
    expect(fleet.hosts[0]?.fence).toBe('required');
    expect(load(services + own + hosts).hosts[0]?.fence).toBe('best-effort');
  });

  const jobs = 'with managedIdentity its jobs could log in as the machine';
  test.each([
    ['Docker', machine, 'jobs: { docker: true }', `a has jobs.docker: ${jobs}`],
    ['sudo', machine, 'jobs: { sudo: true }', `a has jobs.sudo: ${jobs}`],
    ['no isolation', machine, 'network: best-effort', `a has network: best-effort: ${jobs}`],
    [
      "config.sh's registration",
      machine,
      'registration: config',
      'a has registration: config, which does not support managedIdentity',
    ],
    [
      'host mode with Arc',
      'managedIdentity: { arc: true }\n',
      'agents: [{ mode: host }]',
      `a has mode: host, whose jobs reach the port of Azure Arc's agent: ${jobs}`,
    ],
  ])('refuses %s', (_, identity, setting, expected) => {
    const found = mistakesIn(`${services}${own}${identity}hosts: { a: { pool: p, ${setting} } }\n`);
    expect(found).toEqual([expect.stringContaining(expected)]);
  });

  test('host mode on an Azure VM is no mistake', () => {
    const slots = 'hosts: { a: { pool: p, agents: [{ mode: host }] } }\n';
    expect(mistakesIn(services + own + machine + slots)).toEqual([]);
  });

  test.each([
    ['Azure DevOps Server', server + own + machine + hosts, 'does not work with Azure DevOps Server'],
    [
      'no token for this machine',
      services + machine + hosts,
      'token is missing: managedIdentity is for the hosts',
    ],
    ['a federated credential', services + own + federation + machine + hosts, 'are both set'],
    [
      'a client id with Arc',
      `${services}${own}managedIdentity: { arc: true, clientId: c }\n${hosts}`,
      'no clientId with arc',
    ],
  ])('%s', (_, text, expected) => {
    expect(mistakesIn(text)).toEqual([expect.stringContaining(expected)]);
  });
});
