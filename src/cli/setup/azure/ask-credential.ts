import { isHostedService } from '../../../shared/azure/url.ts';
import { defined } from '../../../shared/base/objects.ts';
import type { CredentialSource } from '../../../fleet/inventory/fleet.ts';
import { askSecretSource } from '../secrets/ask-secret.ts';
import { tell, type Wizard } from '../wizard-context.ts';
import { askExpiry } from './ask-expiry.ts';

/** Which token, and where it is found; or a service principal's secret. */
export async function askCredential(wizard: Wizard, organization: string): Promise<CredentialSource> {
  sayHowToMake(wizard, organization);
  const kind = await askSecretSource(
    wizard,
    { key: 'token', what: 'the access token', variable: 'AZP_TOKEN', pasted: 'token' },
    isHostedService(organization)
      ? [{ name: 'no token: a service principal of Microsoft Entra', value: 'service-principal' }]
      : [],
  );
  if (kind === 'service-principal') return askPrincipal(wizard);
  return { kind: 'pat', token: kind };
}

/** Asked once the credential is known to work, or is kept although it does not. */
export async function withExpiry(wizard: Wizard, credential: CredentialSource): Promise<CredentialSource> {
  return { ...credential, ...defined({ expires: await askExpiry(wizard) }) };
}

function sayHowToMake(wizard: Wizard, organization: string): void {
  wizard.say('');
  tell(
    wizard,
    `A personal access token is made at ${organization}/_usersSettings/tokens > New Token > Custom defined > Show all scopes:`,
  );
  wizard.say(
    '  Agent Pools (Read & manage)            needed',
    '  Pipeline Resources (Use and manage)    permits the pool for pipelines',
    '  Project and Team (Read)                lists the projects here',
    '  Build (Read & execute)                 only for --test-pipeline',
  );
}

async function askPrincipal(wizard: Wizard): Promise<CredentialSource> {
  const { prompts } = wizard;
  const check = (text: string): string | undefined =>
    /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
      ? undefined
      : 'An id such as 00000000-0000-0000-0000-000000000001';
  const clientId = await prompts.text('principal.clientId', 'Application (client) id:', { check });
  const tenantId = await prompts.text('principal.tenantId', 'Directory (tenant) id:', { check });
  const secret = await askSecretSource(wizard, {
    key: 'principal',
    what: 'the client secret',
    variable: 'AZP_CLIENT_SECRET',
    pasted: 'client-secret',
  });
  return { kind: 'service-principal', clientId, tenantId, secret };
}
