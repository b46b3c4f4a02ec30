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
