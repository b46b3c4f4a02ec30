import * as z from 'zod';

import { controlIn, noControl } from '../../../shared/base/foreign-text.ts';
import { hopExpected, hopsIn, isHostName, isUserName, parseHop } from '../../../shared/base/jump-chain.ts';
import {
  parseDuration,
  parseRate,
  parseShare,
  rateExpected,
  shareExpected,
} from '../../../shared/base/quantities.ts';

// zod would compile code for each object, which takes longer than one inventory, and is no faster for thousands of hosts.
z.config({ jitless: true });

/**
 * The basic values of the inventory. Each `error` completes "expected …" in a message with the line and column of the
 * mistake.
 */
const someText = z.string({ error: 'text' }).min(1, 'text that is not empty');

/** Returns whether a text is safe to show on a terminal. */
const hasNoControl = (value: string): boolean => noControl.test(value);
const noControlExpected = 'text without control characters';
export const text = someText.refine(hasNoControl, noControlExpected);

/** Names that other systems store and show. */
export const shownName = someText.regex(noControl, noControlExpected);

/** A shell command, which may have several lines. */
const command = someText.refine((value) => controlIn(value) === undefined, noControlExpected);

/** Returns a schema for a map with these keys; `expected` completes the message for any other value. */
export function section<Shape extends z.core.$ZodLooseShape>(expected: string, shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? undefined : expected),
  });
}

/** Versions are text: YAML reads 550.10 as the number 550.1. */
export function version(pattern: RegExp, example: string): z.ZodString {
  const expected = `a version as text, e.g. "${example}"`;
  return z.string({ error: expected }).regex(pattern, expected);
}

export const hostPath = z
  .string({ error: 'an absolute path' })
  .regex(/^\/[^\0]*$/, 'an absolute path')
  .regex(/^(?!.*\/\.\.(\/|$))/, 'an absolute path without ".."')
  .refine(hasNoControl, 'an absolute path without control characters');

export const flag = z.boolean({ error: 'true or false' });

export function wholeNumber(lowest: number, highest: number, what: string): z.ZodInt {
  const expected = `${what} (a whole number from ${lowest} to ${highest})`;
  return z.int({ error: expected }).min(lowest, expected).max(highest, expected);
}

/** Docker's notation for sizes. */
export const size = z
  .string({ error: 'a size such as 64g or 512m' })
  .regex(/^[1-9]\d*[bkmg]$/i, 'a size such as 64g or 512m');

export const rate = z
  .string({ error: rateExpected })
  .refine((value) => parseRate(value) !== undefined, rateExpected);

/** Returns a schema for a duration of up to a week, always with its unit. */
export function durationFrom(least: string) {
  const expected = `a duration from ${least} to 7d, e.g. 10m or 2h`;
  const leastMs = parseDuration(least) ?? 0;
  return z
    .string({ error: expected })
    .regex(/^\d+[smhd]$/, { error: expected, abort: true })
    .refine((value) => {
      const ms = parseDuration(value) ?? 0;
      return ms >= leastMs && ms <= 7 * 86_400_000;
    }, expected);
}

export const duration = durationFrom('1m');

/** Returns a schema for `3` or `25%`; `least`: the smallest valid value of both. */
export function share(least: number) {
  const expected = shareExpected(least);
  return z
    .union([z.int(), z.string()], { error: expected })
    .refine((value) => parseShare(String(value), least) !== undefined, expected);
}

export const sha256 = z
  .string({ error: 'a sha256 (64 hexadecimal digits)' })
  .regex(/^[0-9a-f]{64}$/, 'a sha256 (64 hexadecimal digits, lower case)');

/** A URL without a password: it is written to files that every user of a host can read. */
export const httpUrl = z
  .string({ error: 'an http(s) URL' })
  .regex(/^https?:\/\/[^\s/]+(\/\S*)?$/, { error: 'an http(s) URL', abort: true })
  .regex(/^https?:\/\/[^\s/@]+(\/\S*)?$/, 'a URL without user and password')
  .refine(hasNoControl, 'a URL without control characters');

/** A host name as ssh accepts it. */
const hostNameExpected = 'a host name or an address, without spaces and shell characters';
const hostName = text.refine(isHostName, hostNameExpected);
const aloneExpected = 'a host name or an address only: user and port are separate keys';
export const address = hostName.regex(/^[^@]*$/, aloneExpected).regex(/^(?![^:]+:\d+$)/, aloneExpected);

const userExpected = 'a user name that ssh accepts';
export const loginName = text.refine(isUserName, userExpected);

/** Jump hosts as in ProxyJump. */
const jumpExpected = `none, or jump hosts separated by commas: ${hopExpected}`;
export const jump = text.refine(
  (value) => hopsIn(value).every((hop) => parseHop(hop) !== undefined),
  jumpExpected,
);

/** Names of hosts, groups and slots: parts of agent names, file names and container labels. */
export const name = z
  .string({ error: 'a name' })
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'a name: letters, digits, ".", "_", "-", at most 63 of them');

export const environmentName = z
  .string({ error: 'an environment variable name in upper case' })
  .regex(/^[A-Z][A-Z0-9_]*$/, 'an environment variable name in upper case, e.g. IMAGENET');

/** A registry as in image names: `registry.lab.example`, with its port unless it is the default. */
const registryExpected = 'a registry as in image names: HOST or HOST:PORT, without https:// and path';
export const registryName = z
  .string({ error: registryExpected })
  .regex(
    /^(?=[^:]*[.]|[^:]*:|localhost$)[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:\d{1,5})?$/,
    registryExpected,
  );

/** A repository without a tag: the tag identifies the build. */
const repositoryExpected =
  'a repository of a registry, without a tag, e.g. registry.lab.example/vision/agent';
export const repository = z
  .string({ error: repositoryExpected })
  .regex(
    /^(?=[^/:]*[.]|[^/]*:|localhost\/)[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/,
    repositoryExpected,
  );

const prefixExpected =
  'a registry, with or without a path, without https://, e.g. registry.lab.example:5000/mirror';
/** A prefix of image names. */
export const registryPrefix = z
  .string({ error: prefixExpected })
  .regex(/^[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/, prefixExpected);

/** A user name without a colon: HTTP basic authentication ends the name at the first one. */
const userName = z
  .string({ error: 'a user name' })
  .regex(/^[^\s:\0][^:\0\n]*$/, 'a user name, without ":"')
  .refine(hasNoControl, 'a user name without control characters');

export const date = z
  .string({ error: 'a date such as 2027-05-01' })
  .regex(/^\d{4}-\d\d-\d\d$/, 'a date such as 2027-05-01')
  .refine(isDay, 'a date that exists, such as 2027-05-01');

/** Returns whether a date exists: `Date.parse` reads June 31 as July 1. */
function isDay(value: string): boolean {
  const time = Date.parse(value);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

/** Labels and capabilities: text, numbers or flags. */
export const label = z.union([z.string().refine(hasNoControl, noControlExpected), z.number(), z.boolean()], {
  error: 'text',
});

export const threeNumbers = /^\d+\.\d+\.\d+$/;

/** Returns a schema for a version of three numbers, or `none`. */
export const versionOrNone = (example: string) =>
  z.union(
    [
      z.literal('none'),
      section(`a version, e.g. { version: "${example}" }`, {
        version: version(threeNumbers, example).meta({
          description: 'Upstream version, without packaging suffix',
        }),
      }),
    ],
    { error: `a version, e.g. { version: "${example}" }, or none to leave the installed one alone` },
  );

const expected =
  'where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }';

const sources = {
  env: text.optional().meta({ description: 'Name of an environment variable that holds it' }),
  file: text.optional().meta({
    description: 'File that holds it, readable only by you (mode 0600); relative to the inventory',
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
  expires: date.optional().meta({ description: 'Expiry date; azp-fleet warns beforehand' }),
}).refine(exactlyOne, `${expected}, exactly one of them`);

const principalExpected = 'an application, e.g. { clientId: …, tenantId: …, certificate: azp-fleet.pem }';
const proofs = ['secret', 'certificate', 'federation'] as const;

export const servicePrincipal = section(principalExpected, {
  clientId: text.meta({ description: 'Application (client) id' }),
  tenantId: text.meta({ description: 'Directory (tenant) id' }),
  secret: secretSource.optional().meta({ description: 'Where the client secret is found' }),
  certificate: text.optional().meta({
    description:
      'PEM file with the private key (RSA, without passphrase) and its certificate, readable only by you (mode 0600); instead of the secret',
  }),
  federation: section('a file on the hosts, e.g. { tokenFile: /run/azp-fleet-identity/token }', {
    tokenFile: hostPath.meta({
      description: 'File on each host with a token of the federated issuer; read again for each login',
    }),
  })
    .optional()
    .meta({
      description:
        'A federated credential instead of a secret, for the managers; `token` is then for this machine only',
    }),
  authority: httpUrl.optional().meta({
    description:
      'URL of the token endpoint, without the tenant; https://login.microsoftonline.com unless the directory is in a national cloud',
  }),
  expires: date.optional().meta({ description: 'When the client secret or the certificate expires' }),
}).refine(
  (value) => proofs.filter((key) => value[key] !== undefined).length === 1,
  `an application with exactly one of ${proofs.join(', ')}`,
);

export const managedIdentity = section('the identity of the machines, e.g. {} or { clientId: … }', {
  clientId: text.optional().meta({
    description: "Client id of a user-assigned identity; default: the machine's own identity",
  }),
  arc: z
    .literal(true, { error: 'true' })
    .optional()
    .meta({ description: 'The machines are connected by Azure Arc; default: they are Azure VMs' }),
}).refine((value) => !(value.arc && value.clientId), 'no clientId with arc: Azure Arc has one identity');

/** A login to a registry. */
export const registryLogin = section(
  'a user and a secret, e.g. { user: ci, secret: { env: REGISTRY_PASSWORD } }',
  {
    user: userName.meta({ description: 'User name, or the name of a robot account or token' }),
    secret: secretSource.meta({ description: 'Where its password or token is found' }),
  },
);
