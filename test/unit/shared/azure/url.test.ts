import { expect, test } from 'vitest';
import { organizationUrl } from '../../../../src/shared/azure/url.ts';

test.each([
  ['https://dev.azure.com/example', 'https://dev.azure.com/example'],
  ['https://dev.azure.com/example/', 'https://dev.azure.com/example'],
  ['https://example@dev.azure.com/example', 'https://dev.azure.com/example'],
  ['https://example.visualstudio.com', 'https://example.visualstudio.com'],
  ['https://example.visualstudio.com/DefaultCollection/', 'https://example.visualstudio.com'],
  ['https://devops.lab.example/LabCollection', 'https://devops.lab.example/LabCollection'],
  ['https://devops.lab.example:8443/tfs/LabCollection/', 'https://devops.lab.example:8443/tfs/LabCollection'],
  [
    'https://devops.lab.example/azure/DefaultCollection',
    'https://devops.lab.example/azure/DefaultCollection',
  ],
  ['http://127.0.0.1:8088/lab', 'http://127.0.0.1:8088/lab'],
  ['https://srv.lab.example/azdo/Engineering', 'https://srv.lab.example/azdo/Engineering'],
  ['https://srv.lab.example/azdo/Engineering/', 'https://srv.lab.example/azdo/Engineering'],
])('%s becomes %s', (text, normal) => {
  expect(organizationUrl(text)).toBe(normal);
});

test.each([
  ['https://dev.azure.com/example/vision', 'https://dev.azure.com/example'],
  ['https://dev.azure.com/example/vision/_git/repo', 'https://dev.azure.com/example'],
  ['https://example.visualstudio.com/vision', 'https://example.visualstudio.com'],
  ['https://devops.lab.example/LabCollection/vision', 'https://devops.lab.example/LabCollection'],
  ['https://devops.lab.example/tfs/Lab/vision', 'https://devops.lab.example/tfs/Lab'],
  ['https://dev.azure.com', 'https://dev.azure.com/ORGANIZATION'],
  ['https://srv.lab.example/azdo/Engineering/vision', 'https://srv.lab.example/azdo/Engineering'],
  [
    'https://srv.lab.example/azdo/Engineering/_settings/agentpools',
    'https://srv.lab.example/azdo/Engineering',
  ],
  ['https://srv.lab.example/Engineering/_settings', 'https://srv.lab.example/Engineering'],
  ['https://devops.lab.example', 'https://SERVER/[FOLDER/]COLLECTION'],
  ['https://devops.lab.example/tfs', 'https://SERVER/[FOLDER/]COLLECTION'],
])('%s is refused with the right form %s', (text, form) => {
  expect(() => organizationUrl(text)).toThrow(
    expect.objectContaining({
      exitCode: 2,
      problem: expect.objectContaining({ next: expect.stringContaining(form) }),
    }),
  );
});

test.each(['example', 'ftp://dev.azure.com/example', ''])('"%s" is not an organization URL', (text) => {
  expect(() => organizationUrl(text)).toThrow(/is not the URL of an Azure DevOps organization/u);
});

test('a token in the URL is refused without repeating it', () => {
  const attempt = () => organizationUrl('https://me:hunter2@dev.azure.com/example');
  expect(attempt).toThrow(/password or token/u);
  try {
    attempt();
  } catch (error) {
    expect(JSON.stringify(error)).not.toContain('hunter2');
  }
});

test.each([
  ['https://github.com/example/models', 'github.com'],
  ['https://gist.github.com/example', 'gist.github.com'],
  ['https://gitlab.com/example', 'gitlab.com'],
  ['https://bitbucket.org/example/models', 'bitbucket.org'],
  ['https://portal.azure.com/', 'portal.azure.com'],
  ['https://portal.azure.com/#home', 'portal.azure.com'],
  ['https://azure.microsoft.com/en-us/products/devops', 'azure.microsoft.com'],
  ['https://login.microsoftonline.com/common/oauth2', 'login.microsoftonline.com'],
  ['https://aex.dev.azure.com/me', 'aex.dev.azure.com'],
  ['https://app.vssps.visualstudio.com/_signin', 'app.vssps.visualstudio.com'],
  ['https://www.visualstudio.com', 'www.visualstudio.com'],
])('%s is the page of another service', (text, host) => {
  expect(() => organizationUrl(text)).toThrow(
    expect.objectContaining({
      exitCode: 2,
      problem: expect.objectContaining({
        what: `${host} is not Azure DevOps`,
        next: 'open https://dev.azure.com, choose your organization, and copy the address: https://dev.azure.com/ORGANIZATION',
      }),
    }),
  );
});

test.each([
  'YOUR-ORG',
  'your-org',
  'YOUR-ORGANIZATION',
  'your_organization',
  'ORGANIZATION',
  'NAME',
  'ORG',
  '<org>',
])('the placeholder %s is refused', (name) => {
  expect(() => organizationUrl(`https://dev.azure.com/${name}`)).toThrow(
    expect.objectContaining({
      problem: expect.objectContaining({
        what: expect.stringMatching(/ is a placeholder, not an organization$/u),
        next: 'replace it with the name of your organization, as in the address of its page',
      }),
    }),
  );
});

test.each(['name', 'org', 'organization', 'yourorganic'])('%s is a name', (name) => {
  expect(organizationUrl(`https://dev.azure.com/${name}`)).toBe(`https://dev.azure.com/${name}`);
});

test('a server on a virtual machine of Azure is a server', () => {
  const url = 'https://tfs.westeurope.cloudapp.azure.com/DefaultCollection';
  expect(organizationUrl(url)).toBe(url);
});
