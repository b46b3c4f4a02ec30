import type { Entries } from './entry.ts';

/** Azure DevOps. */
export const azureCodes = {
  'azure.auth': ['the credential was not accepted', 'check or replace it, and check the organization'],
  'azure.certificate': ['the certificate of the server is not trusted', 'name its authority as ca:'],
  'azure.conflict': ['the name is taken', 'choose another, or remove the one that is there'],
  'azure.deactivated': ['nobody used the organization for long', 'activate it in a browser as its owner'],
  'azure.fake-state': ['the saved state of the practice server cannot be read', 'remove the file'],
  'azure.job-running': ['an agent with a job cannot be removed', 'drain it first'],
  'azure.not-found': ['no such thing, or the credential may not see it', 'check the name and the access'],
  'azure.not-settled': ['a change does not show after five minutes', 'run it again'],
  'azure.permission': ['the credential may not do this', 'give it the scope and role that are named'],
  'azure.pool-missing': ['the pool does not exist', 'make it: azp-fleet pool create'],
  'azure.project-missing': [
    'the project does not exist, or may not be seen',
    'check projects: and the access',
  ],
  'azure.refused': ['the service refused for a reason that is quoted', 'do what it asks for'],
  'azure.server-error': ['the service failed', 'wait, and run it again'],
  'azure.server-too-old': ['the server does not know version 7.1 of the interface', 'use a newer server'],
  'azure.throttled': ['too many calls for this identity', 'wait; spread hosts over several tokens'],
  'azure.too-long': ['an answer is longer than is read', 'use more pools with fewer agents each'],
  'azure.unexpected': ['an answer is not of the expected kind', 'check that nothing in between answers'],
  'azure.unreachable': ['no answer', 'check network, URL, proxy: and ca:'],
  'azure.url': ['this is not the URL of an organization', 'copy it from the browser'],
} as const satisfies Entries;
