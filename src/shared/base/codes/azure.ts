/** Azure DevOps. */
export const azureCodes = {
  'azure.auth': [
    'token rejected (401)',
    'make a new token, put it where "token:" of the inventory points, then run `azp-fleet provision`; if the token is valid, check organization:',
    { title: 'Token is rejected', kind: 'permanent' },
  ],
  'azure.auto-update': [
    'the pool updates its agents: an agent for one job would update itself instead of running the job',
    'run `azp-fleet pool authorize`, or `azp-fleet provision`',
  ],
  'azure.az-failed': [
    'the az command failed, or its answer cannot be read',
    'try it again; or create the token in the browser, and run `azp-fleet token rotate` without --mint',
  ],
  'azure.az-login': [
    'az is not logged in as a person who may have tokens in this organization',
    'run `az login` as a user of the organization',
  ],
  'azure.az-missing': [
    'the az command is missing on this machine',
    'install the Azure CLI; or create the token in the browser, and run `azp-fleet token rotate` without --mint',
  ],
  'azure.az-policy': [
    'a policy of the organization or of Microsoft Entra ID refuses a new token',
    'ask an administrator which policy this is; a shorter --valid-for may be allowed',
  ],
  'azure.az-refused': [
    'Azure DevOps does not accept the user of az',
    'run `az login` as a user of this organization',
  ],
  'azure.certificate': [
    'the certificate of the server is not signed by a trusted authority',
    'set ca: to the certificate of the authority',
    { kind: 'permanent' },
  ],
  'azure.conflict': ['the name is already in use', 'choose another name, or remove the existing entry'],
  'azure.deactivated': [
    'the organization is deactivated because it was not used for long',
    'sign in with a browser as its owner',
    { kind: 'permanent' },
  ],
  'azure.fake-state': ['the saved state of the practice server cannot be read', 'remove the file'],
  'azure.job-running': ['an agent with a running job cannot be removed', 'drain it first'],
  'azure.no-connection': [
    'the host cannot connect to Azure DevOps, so its agents get no jobs',
    'check firewall, DNS and proxy between the host and Azure DevOps',
    { title: 'No connection to Azure DevOps' },
  ],
  'azure.not-found': [
    'not found, or the token lacks permission',
    'check the name, and the access of the token',
  ],
  'azure.not-settled': ['a change does not show after five minutes', 'run the command again'],
  'azure.odd-pause': [
    'an answer requests a pause that is no time, or too long; it lasts at most 2 minutes, or 15 where the rate limit agrees',
    'check for a proxy that answers instead of Azure DevOps',
  ],
  'azure.pat-disabled': [
    'the organization does not let this user create personal access tokens',
    'ask an administrator for an exception, or use a service principal',
  ],
  'azure.permission': [
    'the token lacks permission',
    'grant the scope and role that the message names',
    { kind: 'permanent' },
  ],
  'azure.pool-missing': ['the pool does not exist', 'create it with `azp-fleet pool create`'],
  'azure.project-missing': [
    'the project does not exist, or the token lacks permission',
    'check projects:, and the access of the token',
  ],
  'azure.queue-closed': [
    'pipelines of a project may not use the pool: each waits for a permission at its first run',
    'run `azp-fleet pool authorize`, or `azp-fleet provision`',
  ],
  'azure.queue-missing': [
    'a project has no queue of the pool',
    'run `azp-fleet pool authorize`, or `azp-fleet provision`',
  ],
  'azure.refused': ['Azure DevOps refused the request; the message quotes why', 'do what the message says'],
  'azure.server-error': [
    'Azure DevOps failed (5xx)',
    'wait, and run the command again',
    { title: 'Azure DevOps fails', lastsForS: 120 },
  ],
  'azure.server-too-old': [
    'the server does not support API version 7.1',
    'use a newer server',
    { kind: 'permanent' },
  ],
  'azure.throttled': [
    'too many requests for this identity',
    'wait; use separate tokens for groups of hosts',
    { title: 'Too many requests', lastsForS: 120 },
  ],
  'azure.too-long': ['a response is too large', 'use more pools with fewer agents each'],
  'azure.unexpected': [
    'a response is not what the API returns',
    'check for a proxy or a login page on the network path',
  ],
  'azure.unreachable': [
    'no answer from Azure DevOps',
    'check network, URL, proxy: and ca:',
    { lastsForS: 120, title: 'Azure DevOps does not answer', dependsOn: ['azure.no-connection'] },
  ],
  'azure.url': ['organization: is not the URL of an organization', 'copy the URL from the browser'],
} as const;
