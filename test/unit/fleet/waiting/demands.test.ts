import { describe, expect, test } from 'vitest';

import { demandedVersion, lacks, noAgentFound } from '../../../../src/fleet/waiting/demands.ts';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';

const agent: AzureAgent = {
  id: 1,
  name: 'a',
  version: '4.275.0',
  enabled: true,
  status: 'online',
  systemCapabilities: { git: '/usr/bin/git', 'Agent.Version': '4.275.0', 'gpu.model': 'old' },
  userCapabilities: { 'gpu.model': 'NVIDIA H200', 'cuda.driverMax': '12.8', empty: '' },
};

test.each([
  [['git'], []],
  [['GIT'], []],
  [['empty'], []],
  [['docker'], [{ demand: 'docker' }]],
  [['gpu.model -equals nvidia h200'], []],
  [['gpu.model -equals old'], [{ demand: 'gpu.model -equals old', has: 'NVIDIA H200' }]],
  [['cuda.driverMax -gtVersion 12.8'], []],
  [['cuda.driverMax -gtVersion 12.7.5'], []],
  [['cuda.driverMax -gtVersion 12.10'], [{ demand: 'cuda.driverMax -gtVersion 12.10', has: '12.8' }]],
  [['git -gtVersion 1'], [{ demand: 'git -gtVersion 1', has: '/usr/bin/git' }]],
  [['Agent.Version -gtVersion 4.275.0'], []],
  [['agent.version -gtversion 5.1'], [{ demand: 'agent.version -gtversion 5.1', has: '4.275.0' }]],
  [['git -sounds like'], [{ demand: 'git -sounds like', has: '/usr/bin/git' }]],
  [
    ['docker', 'git', 'nvlink'],
    [{ demand: 'docker' }, { demand: 'nvlink' }],
  ],
  [[''], [{ demand: '' }]],
])('%j lacks %j', (demands, expected) => {
  expect(lacks(agent, demands)).toEqual(expected);
});

test('without capabilities the version of the agent counts, and all else is lacking', () => {
  const { systemCapabilities: _, userCapabilities: __, ...bare } = agent;
  expect(lacks(bare, ['Agent.Version -gtVersion 4.1', 'git'])).toEqual([{ demand: 'git' }]);
});

test.each([
  ['Agent.Version -gtVersion 4.1', '4.1'],
  ['agent.version -gtversion 4.1', '4.1'],
  ['Agent.Version', undefined],
  ['cuda.driverMax -gtVersion 12.1', undefined],
])('%s demands version %s', (demand, version) => {
  expect(demandedVersion(demand)).toBe(version);
});

// The forms are those of users' reports: agent #4258, docs #4853, agent #2996, agent #4831.
describe('what Azure DevOps says of a job that no agent can run', () => {
  test.each([
    [
      'No agent found in pool XXX which satisfies the specified demands: azureps, Agent.Version -gtVersion 2.144.0',
      { pool: 'XXX', demands: ['azureps', 'Agent.Version -gtVersion 2.144.0'] },
    ],
    [
      '##[error]No agent found in pool local which satisfies the specified demands:\nazureps\nAgent.Version -gtVersion 2.153.2 ',
      { pool: 'local', demands: ['azureps', 'Agent.Version -gtVersion 2.153.2'] },
    ],
    [
      "No agent found in pool BUZ-MYB which satisfies the following demand: agent.name. All demands: agent.name -equals 'ecom', Agent.Version -gtVersion 2.163.1\nPool: BUZ-MYB",
      { pool: 'BUZ-MYB', demands: ["agent.name -equals 'ecom'", 'Agent.Version -gtVersion 2.163.1'] },
    ],
    [
      'No agent found in pool dod which satisfies the following demand: visualstudio. All demands: visualstudio, msbuild, Agent.Version -gtVersion 2.217.2 ',
      { pool: 'dod', demands: ['visualstudio', 'msbuild', 'Agent.Version -gtVersion 2.217.2'] },
    ],
    ['We stopped hearing from agent a', undefined],
    ['', undefined],
  ])('%j', (message, expected) => {
    expect(noAgentFound(message)).toEqual(expected);
  });
});
