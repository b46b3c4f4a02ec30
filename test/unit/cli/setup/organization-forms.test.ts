import { expect, test } from 'vitest';

import { organizationMistake, readOrganization } from '../../../../src/cli/setup/organization-forms.ts';

const hosted = 'https://dev.azure.com/example';

const forms: readonly (readonly [text: string, organization: string, project?: string])[] = [
  ['example', hosted],
  [' example ', hosted],
  ['dev.azure.com/example', hosted],
  ['https://dev.azure.com/example/', hosted],
  ['https://dev.azure.com/example/vision', hosted, 'vision'],
  ['https://dev.azure.com/example/Machine%20Vision/_build?definitionId=7', hosted, 'Machine Vision'],
  ['https://dev.azure.com/example/_settings/agentpools', hosted],
  ['https://ann@dev.azure.com/example/vision/_git/models', hosted, 'vision'],
  ['https://dev.azure.com/example/_git/vision', hosted, 'vision'],
  ['git@ssh.dev.azure.com:v3/example/vision/models', hosted, 'vision'],
  ['ssh://git@ssh.dev.azure.com/v3/example/vision/models', hosted, 'vision'],
  ['example@vs-ssh.visualstudio.com:v3/example/vision/models', hosted, 'vision'],
  ['https://example.visualstudio.com', 'https://example.visualstudio.com'],
  [
    'https://example.visualstudio.com/DefaultCollection/vision/_git/x',
    'https://example.visualstudio.com',
    'vision',
  ],
  [
    'https://tfs.lab.example/DefaultCollection/vision/_build',
    'https://tfs.lab.example/DefaultCollection',
    'vision',
  ],
  ['https://tfs.lab.example/tfs/Team/vision/_git/x', 'https://tfs.lab.example/tfs/Team', 'vision'],
  ['https://tfs.lab.example/Team/_settings/', 'https://tfs.lab.example/Team'],
  ['http://127.0.0.1:8080/lab', 'http://127.0.0.1:8080/lab'],
];

test.each(forms.map(([text, ...expected]) => ({ text, expected })))(
  '$text',
  ({ text, expected: [organization, project] }) => {
    expect(organizationMistake(text)).toBeUndefined();
    expect(readOrganization(text)).toEqual({ organization, ...(project === undefined ? {} : { project }) });
  },
);

const choose = 'open https://dev.azure.com, choose your organization, and copy the address';
const replace = 'replace it with the name of your organization, as in the address of its page';

test.each([
  ['', 'A name, or the URL'],
  [
    'https://dev.azure.com',
    'the organization URL https://dev.azure.com/ names no organization: write the URL as https://dev.azure.com/ORGANIZATION',
  ],
  [
    'https://ann:secret@dev.azure.com/example',
    'the organization URL contains a password or token: remove it from the URL',
  ],
  ['github.com/example/models', `github.com is not Azure DevOps: ${choose}`],
  ['https://github.com/foo', `github.com is not Azure DevOps: ${choose}`],
  [
    'git@github.com:example/models.git',
    '"git@github.com:example/models.git" is not the URL of an Azure DevOps organization: copy the address that the browser shows',
  ],
  ['portal.azure.com', `portal.azure.com is not Azure DevOps: ${choose}`],
  ['https://dev.azure.com/YOUR-ORG', `"YOUR-ORG" is a placeholder, not an organization: ${replace}`],
  ['YOUR-ORG', `"YOUR-ORG" is a placeholder, not an organization: ${replace}`],
])('%j is refused with the reason and the fix', (text, mistake) => {
  expect(organizationMistake(text)?.slice(0, mistake.length)).toBe(mistake);
});
