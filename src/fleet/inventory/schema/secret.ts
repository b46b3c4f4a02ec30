import * as z from 'zod';

import { command, date, httpUrl, section, text, userName } from './values.ts';

const expected =
  'where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }';

const sources = {
  env: text.optional().meta({ description: 'Name of an environment variable that holds it' }),
  file: text.optional().meta({
    description: 'File that holds it, readable by you alone (mode 0600); relative to the inventory',
  }),
  cmd: command.optional().meta({ description: 'Command that prints it, e.g. "pass show azp"' }),
  prompt: z
    .literal(true, { error: 'true' })
    .optional()
    .meta({ description: 'Ask for it each time (needs a terminal)' }),
};

function exactlyOne(value: object): boolean {
  return Object.keys(value).filter((key) => key in sources).length === 1;
}

/** A reference to a secret. The file never holds a secret itself. */
export const secretSource = section(expected, sources)
  .refine(exactlyOne, `${expected}, exactly one of them`)
  .meta({ id: 'secretSource' });

export const token = section(expected, {
  ...sources,
  expires: date.optional().meta({ description: 'When it expires; warned about beforehand' }),
}).refine(exactlyOne, `${expected}, exactly one of them`);

export const servicePrincipal = section(
  'an application, e.g. { clientId: …, tenantId: …, secret: { env: AZP_CLIENT_SECRET } }',
  {
    clientId: text.meta({ description: 'Application (client) id' }),
    tenantId: text.meta({ description: 'Directory (tenant) id' }),
    secret: secretSource.meta({ description: 'Where the client secret is found' }),
    authority: httpUrl.optional().meta({
      description:
        'Where tokens are asked for, without the tenant; https://login.microsoftonline.com unless the directory is in a national cloud',
    }),
    expires: date.optional().meta({ description: 'When the client secret expires' }),
  },
);

/** Who we are to a registry that asks. */
export const registryLogin = section(
  'a user and a secret, e.g. { user: ci, secret: { env: REGISTRY_PASSWORD } }',
  {
    user: userName.meta({ description: 'User name, or the name of a robot account or token' }),
    secret: secretSource.meta({ description: 'Where its password or token is found' }),
  },
);
