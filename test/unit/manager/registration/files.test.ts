import { expect, test } from 'vitest';
import type { AzureAgent } from '../../../../src/azure/client.ts';
import { decideRegistration, type RegistrationQuestion } from '../../../../src/manager/registration/files.ts';

const agent = (changes: Partial<AzureAgent> = {}): AzureAgent => ({
  id: 1,
  name: 'box-0',
  enabled: true,
  status: 'offline',
  userCapabilities: { 'azp-fleet.owner': 'us' },
  ...changes,
});
const question = (changes: Partial<RegistrationQuestion> = {}): RegistrationQuestion => ({
  name: 'box-0',
  agent: agent(),
  owner: 'us',
  adopt: false,
  containers: 0,
  ...changes,
});
const job = { requestId: 7, jobName: 'train' };

test.each([
  ['nobody has the name', question({ agent: undefined }), 'create'],
  ['it is ours and idle', question(), 'replace'],
  ['a container of the slot exists', question({ containers: 1 }), 'wait'],
  ['a job is assigned', question({ agent: agent({ assignedRequest: job }) }), 'wait'],
  [
    'another host has it',
    question({ agent: agent({ userCapabilities: { 'azp-fleet.owner': 'them' } }) }),
    'refuse',
  ],
  ['a person registered it', question({ agent: agent({ userCapabilities: {} }) }), 'refuse'],
  [
    'another host has it, and we may take it',
    question({ agent: agent({ userCapabilities: {} }), adopt: true }),
    'replace',
  ],
  [
    'we may take it, but it runs a job',
    question({ agent: agent({ userCapabilities: {}, assignedRequest: job }), adopt: true }),
    'wait',
  ],
])('%s', (_, asked, kind) => {
  expect(decideRegistration(asked).kind).toBe(kind);
});

test('a wait for a job names it', () => {
  const decision = decideRegistration(question({ agent: agent({ assignedRequest: job }) }));
  expect(decision).toMatchObject({ cause: { what: expect.stringContaining('job train') as string } });
});
