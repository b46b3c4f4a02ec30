// The lines are those of the agent's own source (strings.json, Agent.cs, ConfigurationManager.cs, config.sh), v5.278.
import { expect, test } from 'vitest';

import { refusalIn } from '../../../../src/manager/registration/register-by-config.ts';

const begin = `
>> End User License Agreements:

>> Connect:

Connecting to server ...
`;
const register = `${begin}
>> Register Agent:

Scanning for tool capabilities.
Connecting to the server.
`;
const replaced = `Pool gpu-lab already contains an agent with name h200-1-0.
Access denied. ann needs Manage permissions for pool gpu-lab to perform the action.
Failed to replace the agent.  Try again or ctrl-c to quit
`;

test.each([
  [
    'a rejected token',
    `${begin}VS30063: You are not authorized to access https://dev.azure.com.\n`,
    'VS30063: You are not authorized to access https://dev.azure.com.',
  ],
  [
    'an unknown pool',
    `${begin}\n>> Register Agent:\n\nAgent pool not found: 'gpu'\n`,
    "Agent pool not found: 'gpu'",
  ],
  [
    'a replacement that fails and starts over until it is ended',
    `${register}${replaced}${register}${replaced}Scanning for tool capabilities.\nConnecting to the server.\nPool gpu-lab already contains an agent with name h200-1-0.\n`,
    'Access denied. ann needs Manage permissions for pool gpu-lab to perform the action.',
  ],
  [
    'stdout that arrives after stderr',
    "Agent pool not found: 'gpu'\n>> Connect:\nConnecting to server ...\n",
    "Agent pool not found: 'gpu'",
  ],
  [
    'no network, tried again until it is ended',
    `${begin}SocketException occurred.\nConnection refused\nVerify whether you have (network) access to https://a.example/lab\nURLs the agent need communicate with - https://example.com/allow\n`,
    'Connection refused',
  ],
  [
    'a library that is missing',
    "libicu's dependencies missing for .NET 6\nExecute ./bin/installdependencies.sh to install any missing dependencies.\n",
    "libicu's dependencies missing for .NET 6",
  ],
  [
    'a failure before the configuration',
    'An error occurred: Access to the path /azp/_diag is denied.\n',
    'Access to the path /azp/_diag is denied.',
  ],
  ['only progress', begin, 'Connecting to server ...'],
  ['nothing', '\n', 'no output'],
])('%s: the line that names the cause is shown', (_, log, cause) => {
  expect(refusalIn(log)).toBe(cause);
});

test('escape sequences and long lines of a container are not shown', () => {
  expect(refusalIn(`\u001b[31mno\u001b[0m\n`)).toBe('no');
  expect(refusalIn('x'.repeat(5000)).length).toBeLessThan(400);
});
