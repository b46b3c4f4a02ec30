import { readFileSync } from 'node:fs';

import { createAzureClient } from '../../../shared/azure/create-client.ts';
import { createFirstLook } from '../../../shared/azure/first-look.ts';
import { patCredential, servicePrincipalCredential } from '../../../shared/azure/http/credential.ts';
import type { RestOptions } from '../../../shared/azure/http/rest.ts';
import { createFetch } from '../../../shared/azure/http/proxy.ts';
import type { Context } from '../../../shared/base/context.ts';
import { defined } from '../../../shared/base/objects.ts';
import { version } from '../../../shared/base/version.ts';
import { defaultUploads } from '../../../fleet/inventory/schema/defaults.ts';
import type { Interview } from '../../setup/interview/interview.ts';
import { secretReader } from '../../setup/secrets/secret-reader.ts';
import type { Wizard } from '../../setup/wizard-context.ts';
import { createTransport } from '../../../fleet/ssh/create-transport.ts';

/** The wizard with what it needs of the outside. */
export function openWizard(
  context: Context,
  prompts: Interview,
  sshConfig: string | undefined,
  say: Wizard['say'],
): Wizard {
  const told: string[] = [];
  const { read, know, environment } = secretReader(context, (message) => prompts.hidden(message));
  return {
    context,
    prompts,
    ...defined({ sshConfig }),
    secret: read,
    know,
    openTransport: (ask, inventory) =>
      createTransport({
        ...context,
        env: environment(),
        ask,
        resolveSecret: (source) => read(source, 'the sudo password'),
        notice: (line) => told.push(line),
        uploads: defaultUploads,
        hosts: inventory,
      }),
    azure: (way) => azureQuestions(context, way),
    notices: () => told.splice(0),
    say,
  };
}

function azureQuestions(context: Context, way: Way): ReturnType<Wizard['azure']> {
  const options = restOptions(context, way);
  return { ...createAzureClient(options), ...createFirstLook(options) };
}

type Way = Parameters<Wizard['azure']>[0];

/** How the organization is asked, by what was answered. */
export function restOptions(
  context: Context,
  { organization, credential, network, secret }: Way,
): RestOptions {
  const { proxy, noProxy = [], ca } = network;
  const caPem = ca === undefined ? undefined : readFileSync(ca, 'utf8');
  const fetch = createFetch({ ...defined({ http: proxy, https: proxy, caPem }), noProxy });
  return {
    organization,
    credential:
      credential.kind === 'pat'
        ? patCredential(secret)
        : servicePrincipalCredential({
            ...credential,
            secret,
            fetch,
            clock: context.clock,
            onPause: () => undefined,
          }),
    fetch,
    log: context.log,
    signal: context.signal,
    clock: context.clock,
    userAgent: `azp-fleet/${version}`,
  };
}
