import { readFileSync } from 'node:fs';

import type { CredentialSource, Mirrors } from '../../fleet/inventory/fleet.ts';
import { date, httpUrl, registryPrefix } from '../../fleet/inventory/schema/values.ts';
import { describeSource } from '../../fleet/inventory/secret.ts';
import type { ParallelJobs } from '../../shared/azure/client.ts';
import { readParallelJobs } from '../../shared/azure/parallel-jobs.ts';
import { isHostedService } from '../../shared/azure/url.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { problemLines } from '../render/problem.ts';
import { organizationMistake, type Pasted, readOrganization } from './organization-forms.ts';
import { askSecretSource } from './secrets.ts';
import {
  type AzureReader,
  type Choices,
  lineWidth,
  type NetworkChoice,
  print,
  typedPath,
  type Wizard,
} from './wizard-context.ts';

interface AzureChoice extends Pick<Choices, 'organization' | 'credential' | 'projects' | 'network'> {
  /** The limit of parallel jobs; undefined if there is none, or it could not be read. */
  readonly jobs?: ParallelJobs;
  /** Names of the server's pools for jobs; undefined if the credential was not tried. */
  readonly pools?: readonly string[];
}

/** How often a credential is checked before setup ends. */
const mostChecks = 5;

/** Asks for organization, network, credential and projects, and checks the credential. */
export async function askAzure(wizard: Wizard): Promise<AzureChoice> {
  const checks = { failed: 0 };
  for (;;) {
    const { organization, project } = await askOrganization(wizard);
    const network = await askNetwork(wizard);
    const checked = await askChecked(wizard, { organization, network, checks });
    if (checked === undefined) continue;
    const { credential, seen } = checked;
    const known = await withExpiry(wizard, credential);
    const projects = await askProjects(wizard, seen, project);
    return {
      organization,
      credential: known,
      network,
      projects,
      ...defined({ jobs: seen?.jobs, pools: seen?.pools }),
    };
  }
}

interface Server {
  readonly organization: string;
  readonly network: NetworkChoice;
  readonly checks: { failed: number };
}

/** Asks for a credential until one is valid or kept. Returns undefined if the organization is to be corrected. */
async function askChecked(
  wizard: Wizard,
  server: Server,
): Promise<{ readonly credential: CredentialSource; readonly seen: Seen | undefined } | undefined> {
  for (;;) {
    const credential = await askCredential(wizard, server.organization);
    const seen = await askCheck(wizard, { ...server, credential });
    if (seen === 'organization') return undefined;
    if (seen !== 'token') return { credential, seen };
  }
}

async function askOrganization(wizard: Wizard): Promise<Pasted> {
  const text = await wizard.prompts.text('organization', 'Azure DevOps organization (name or URL):', {
    check: organizationMistake,
  });
  const pasted = readOrganization(text);
  if (pasted.organization !== text)
    print(
      wizard,
      `  ${pasted.organization}${pasted.project === undefined ? '' : `, project ${pasted.project}`}`,
    );
  return pasted;
}

interface Attempt extends Server {
  readonly credential: CredentialSource;
}

/**
 * Checks the credential; returns undefined if it was not checked, or is kept although it failed, and the question to
 * which the user returns. Throws after too many failed checks.
 */
async function askCheck(
  wizard: Wizard,
  tried: Attempt,
): Promise<Seen | undefined | 'token' | 'organization'> {
  const { prompts, context } = wizard;
  const { organization, credential, checks } = tried;
  const source = credential.kind === 'pat' ? credential.token : credential.secret;
  if ('env' in source && !context.env[source.env]) {
    print(
      wizard,
      `environment variable ${source.env} is not set. Before provisioning: read -rs ${source.env} && export ${source.env}`,
    );
    return undefined;
  }
  for (let attempt = 1; ; attempt += 1) {
    const seen = await prompts.once(`try ${attempt}`, () => tryCredential(wizard, tried));
    if (!('code' in seen)) {
      for (const line of rightsLines(organization, credential, seen)) print(wizard, line);
      return seen;
    }
    checks.failed += 1;
    if (prompts.canAsk && checks.failed === mostChecks) {
      prompts.forget('token.kept');
      throw tooManyChecks(seen, organization);
    }
    wizard.say(...problemLines(seen, lineWidth(wizard)));
    const chosen = await askAfterFailure(prompts);
    if (chosen === 'skip') return undefined;
    if (chosen === 'retry') continue;
    prompts.forget(chosen === 'token' ? 'token.kept' : 'organization');
    return chosen;
  }
}

function askAfterFailure(prompts: Wizard['prompts']) {
  return prompts.choose<'retry' | 'token' | 'organization' | 'skip'>(
    'token.failed',
    'The token check failed:',
    [
      ...(prompts.canAsk
        ? ([
            { name: 'Try again', value: 'retry' },
            { name: 'Use another token', value: 'token' },
            { name: 'Correct organization and token', value: 'organization' },
          ] as const)
        : []),
      { name: 'Continue without a check', value: 'skip' },
    ],
  );
}

function tooManyChecks(last: Problem, organization: string): FleetError {
  return new FleetError({
    ...last,
    what: `${mostChecks} checks failed; the last: ${last.what}`,
    next: `create a token at ${organization}/_usersSettings/tokens with the scopes listed above, then run azp-fleet setup again`,
  });
}

/** Longest list to choose from; of more, names are typed. */
const mostListed = 200;

/** Asks for the projects that may use the pool: from a list, or typed. `pasted`: the project in the pasted URL. */
async function askProjects(
  wizard: Wizard,
  seen: Seen | undefined,
  pasted: string | undefined,
): Promise<string[]> {
  const { prompts } = wizard;
  const listed = seen?.projects ?? [];
  if (listed.length === 0 || listed.length > mostListed || prompts.answers('projects'))
    return typed(wizard, seen?.client, pasted);
  const preset = listed.filter((name) => name.toLowerCase() === pasted?.toLowerCase() || listed.length === 1);
  const chosen = await prompts.chooseMany(
    'projects.listed',
    'Projects that may use the pool:',
    listed.map((name) => ({ name, value: name })),
    preset,
  );
  await sayRights(wizard, seen?.client, chosen);
  return [...chosen];
}

async function typed(
  wizard: Wizard,
  client: AzureReader | undefined,
  pasted: string | undefined,
): Promise<string[]> {
  const answer = await wizard.prompts.text(
    'projects',
    'Projects that may use the pool (separated by commas):',
    {
      default: pasted ?? '',
      check: async (text) => {
        for (const name of split(text))
          if (client && (await client.findProject(name)) === undefined) return `Project ${name} not found`;
        return undefined;
      },
    },
  );
  await sayRights(wizard, client, split(answer));
  return split(answer);
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Reports whether the token may permit pools: the same scope allows to read permissions. */
async function sayRights(
  wizard: Wizard,
  client: AzureReader | undefined,
  projects: readonly string[],
): Promise<void> {
  if (client === undefined) return;
  for (const name of projects) {
    const refused = await wizard.prompts.once(`rights in ${name}`, () => refusal(client, name));
    if (refused !== undefined) wizard.say(...problemLines(refused, lineWidth(wizard)));
    else print(wizard, `✔ the token can permit pools in ${name}`);
  }
}

async function refusal(client: AzureReader, name: string) {
  try {
    const [queue] = (await client.findProject(name))?.queues ?? [];
    if (queue !== undefined) await client.isQueueAuthorized(name, queue.id);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return error.problem;
  }
}

/** Asks for the source of the token or of a service principal's secret. */
async function askCredential(wizard: Wizard, organization: string): Promise<CredentialSource> {
  sayHowToCreate(wizard, organization);
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

/** Adds the expiry date; asked after the check of the credential. */
async function withExpiry(wizard: Wizard, credential: CredentialSource): Promise<CredentialSource> {
  return { ...credential, ...defined({ expires: await askExpiry(wizard) }) };
}

function sayHowToCreate(wizard: Wizard, organization: string): void {
  wizard.say('');
  print(
    wizard,
    `Create a personal access token at ${organization}/_usersSettings/tokens > New Token > Custom defined > Show all scopes:`,
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
      : 'An ID such as 00000000-0000-0000-0000-000000000001';
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

/** Asks for the expiry date. azp-fleet warns three weeks before; an expired token stops the fleet. */
async function askExpiry({ prompts, context }: Wizard): Promise<string | undefined> {
  const text = await prompts.text(
    'token.expires',
    'When does it expire? (2027-05-31, Enter if you do not know):',
    {
      default: '',
      check: (typed) => (typed === '' ? undefined : expiryMistake(typed, context.clock.wall())),
    },
  );
  return text === '' ? undefined : text;
}

/** `now`: milliseconds since the epoch. */
export function expiryMistake(text: string, now: number): string | undefined {
  if (!date.safeParse(text).success) return 'Year-month-day, such as 2027-05-31';
  return Date.parse(text) <= now ? `${text} is in the past: create a new token` : undefined;
}

const mirrorNames: Readonly<Record<keyof Mirrors, string>> = {
  nvidiaDriver: "NVIDIA's driver repository (https://developer.download.nvidia.com/compute/cuda/repos)",
  nvidiaRunfile: "NVIDIA's .run files (https://download.nvidia.com/XFree86)",
  docker: "Docker's packages (https://download.docker.com/linux)",
  toolkit: 'the container toolkit (https://nvidia.github.io/libnvidia-container)',
  epel: "EPEL, for Red Hat's systems (https://dl.fedoraproject.org/pub/epel)",
  agent: 'the Azure Pipelines agent (https://download.agent.dev.azure.com)',
  apt: "Ubuntu's and Debian's archives",
  images: 'images instead of docker.io, e.g. registry.lab.example',
  npm: 'npm packages (https://registry.npmjs.org), for this machine',
};

/** Asks for proxy, certificate authority and mirrors. */
async function askNetwork(wizard: Wizard): Promise<NetworkChoice> {
  const { prompts } = wizard;
  const keys = ['network.proxy', 'network.noProxy', 'network.ca', ...mirrorKeys()];
  const closed =
    keys.some((key) => prompts.answers(key)) ||
    (await prompts.confirm('network', 'Does internet access need a proxy, a private CA or mirrors?', false));
  if (!closed) return {};
  const proxy = await prompts.text('network.proxy', 'Proxy (http://HOST:PORT, Enter for none):', {
    default: '',
    check: urlMistake,
  });
  const noProxy =
    proxy === ''
      ? []
      : words(
          await prompts.text('network.noProxy', 'Hosts without the proxy (separated by spaces):', {
            default: 'localhost',
            list: true,
          }),
        );
  const file = (text: string): string => typedPath(wizard, text);
  const ca = await prompts.text('network.ca', 'PEM file of your certificate authority (Enter for none):', {
    default: '',
    check: (text) => (text === '' ? undefined : pemMistake(file(text))),
  });
  const mirrors = await askMirrors(prompts);
  return defined({
    proxy: proxy === '' ? undefined : proxy,
    noProxy: noProxy.length === 0 ? undefined : noProxy,
    ca: ca === '' ? undefined : file(ca),
    mirrors,
  });
}

/** Returns the mistake in a certificate file, for example a folder or another format than PEM. */
function pemMistake(file: string): string | undefined {
  try {
    const isPem = readFileSync(file, 'utf8').includes('-----BEGIN CERTIFICATE-----');
    return isPem ? undefined : `${file} has no PEM certificate`;
  } catch {
    return `${file} cannot be read`;
  }
}

function mirrorKeys(): string[] {
  return Object.keys(mirrorNames).map((name) => `network.mirrors.${name}`);
}

async function askMirrors(prompts: Wizard['prompts']): Promise<Mirrors | undefined> {
  const asked =
    mirrorKeys().some((key) => prompts.answers(key)) ||
    (await prompts.confirm('network.mirrors', 'Use mirrors for packages and images?', false));
  if (!asked) return undefined;
  const mirrors: Record<string, string> = {};
  for (const [name, what] of Object.entries(mirrorNames)) {
    const url = await prompts.text(`network.mirrors.${name}`, `Mirror of ${what}, Enter for none:`, {
      default: '',
      check: name === 'images' ? prefixMistake : urlMistake,
    });
    if (url !== '') mirrors[name] = url;
  }
  return Object.keys(mirrors).length === 0 ? undefined : mirrors;
}

function urlMistake(text: string): string | undefined {
  return text === '' || httpUrl.safeParse(text).success
    ? undefined
    : 'http://… or https://…, without user and password';
}

function prefixMistake(text: string): string | undefined {
  return text === '' || registryPrefix.safeParse(text).success
    ? undefined
    : 'A registry, without https://, e.g. registry.lab.example:5000/mirror';
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** The permissions of a valid credential. */
interface Seen {
  readonly client: AzureReader;
  /** Names of the pools for jobs, without hosted pools. */
  readonly pools: readonly string[];
  readonly managed: readonly string[];
  readonly mayWrite: boolean | undefined;
  /** Undefined if it may not list projects. */
  readonly projects: readonly string[] | undefined;
  readonly jobs: ParallelJobs | undefined;
}

/** Checks the credential on the server and changes nothing. Returns the problem if it does not answer or rejects it. */
async function tryCredential(
  wizard: Wizard,
  access: {
    readonly organization: string;
    readonly credential: CredentialSource;
    readonly network: NetworkChoice;
  },
): Promise<Seen | Problem> {
  const { credential } = access;
  try {
    const secret = await wizard.secret(
      credential.kind === 'pat' ? credential.token : credential.secret,
      credential.kind === 'pat' ? 'the token' : 'the client secret',
      'again',
    );
    const client = wizard.azure({ ...access, secret });
    const pools = (await client.listPools()).filter(({ isHosted }) => isHosted !== true);
    const read = await readParallelJobs(client, wizard.context.log);
    return {
      client,
      pools: pools.map(({ name }) => name),
      managed: await client.managedPools(),
      mayWrite: await client.mayWritePools(),
      projects: await client.listProjects(),
      jobs: read?.permitted === undefined ? undefined : read,
    };
  } catch (error) {
    if (!(error instanceof FleetError) || wizard.context.signal.aborted) throw error;
    return error.problem;
  }
}

/** Returns the credential's permissions, with a fix for each missing one. Pure. */
export function rightsLines(
  organization: string,
  credential: CredentialSource,
  { pools, managed, mayWrite, projects }: Omit<Seen, 'client' | 'jobs'>,
): string[] {
  const source = describeSource(credential.kind === 'pat' ? credential.token : credential.secret);
  return [
    `✔ ${organization} accepts ${source}; pools: ${pools.length}`,
    mayWrite === false
      ? '✗ the token may not register agents. Next: add the scope "Agent Pools (Read & manage)"'
      : managed.length > 0
        ? `✔ the token's user administers ${managed.length === 1 ? `the pool ${managed[0]}` : `${managed.length} pools`}`
        : "! the token's user administers no pool. Next: Organization settings > Agent pools > Security > add the user as Administrator; or ask an administrator to create the pool",
    projects === undefined
      ? '! the token may not list projects; type their names below'
      : `✔ the token can read ${projects.length} project${projects.length === 1 ? '' : 's'}`,
  ];
}
