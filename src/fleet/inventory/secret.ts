import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';

import { codeOf, FleetError, type Problem, usageError, whyNot } from '../../shared/base/errors.ts';
import { readCertificate, timeMistake } from '../../shared/azure/http/certificate.ts';
import { Secret } from '../../shared/base/secret.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CredentialSource, Fleet, SecretSource } from './fleet.ts';

export interface SecretContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** For messages: `the token`, `the sudo password of h200-1`. */
  readonly purpose: string;
  readonly signal?: AbortSignal;
  /** Asks without echo; absent where there is no terminal. */
  readonly ask?: (message: string) => Promise<string>;
  /** Variables with secrets of the inventory: `cmd` runs without them. */
  readonly hide?: readonly string[];
}

/** Reads a secret from its source. Rejects with a usage error that never quotes the value. */
export async function resolveSecret(source: SecretSource, context: SecretContext): Promise<Secret> {
  const text = withoutEnd(await read(source, context));
  if (text !== '') return new Secret(text);
  throw failed(context, {
    what: `is empty`,
    seen: `nothing from ${describeSource(source)}`,
    next:
      'file' in source
        ? writeIt(source.file)
        : 'cmd' in source
          ? `run it yourself: ${source.cmd}`
          : 'type it',
  });
}

/** Maximum bytes of a file that is read for a secret before a command needs it. */
const mostPeeked = 64 * 1024;

/** Returns the secret if it is known without prompts and commands. */
function peekSecret(source: SecretSource, env: SecretContext['env']): Secret | undefined {
  const text = 'env' in source ? (env[source.env] ?? '') : 'file' in source ? peekFile(source.file) : '';
  const value = withoutEnd(text);
  return value === '' ? undefined : new Secret(value);
}

/** Reads a regular file; a pipe would block, and could be read only once. Empty if there is none. */
function peekFile(file: string): string {
  try {
    const stat = statSync(file);
    return stat.isFile() && stat.size <= mostPeeked ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}

function withoutEnd(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** Describes a source for messages: `the variable AZP_TOKEN`. */
export function describeSource(source: SecretSource): string {
  if ('env' in source) return `the variable ${source.env}`;
  if ('file' in source) return `the file ${source.file}`;
  if ('cmd' in source) return `the command ${source.cmd}`;
  return 'the prompt';
}

function read(source: SecretSource, context: SecretContext): string | Promise<string> {
  if ('env' in source) return readVariable(source.env, context);
  if ('file' in source) return readPrivateFile(source.file, context);
  if ('cmd' in source) return readCommand(source.cmd, context);
  if (context.ask) return context.ask(`${capital(context.purpose)}:`);
  throw failed(context, {
    what: 'needs a prompt, but there is no terminal',
    next: 'run this in a terminal, or use { env: NAME }, { file: PATH } or { cmd: "COMMAND" }',
  });
}

function readVariable(name: string, context: SecretContext): string {
  const value = context.env[name];
  if (value !== undefined && value !== '') return value;
  throw failed(context, {
    what: `cannot be read: the environment variable ${name} is ${value === undefined ? 'not set' : 'empty'}`,
    next: `read -rs ${name} && export ${name}`,
  });
}

function readPrivateFile(file: string, context: SecretContext): string {
  try {
    const { mode } = statSync(file);
    if ((mode & 0o077) === 0) return readFileSync(file, 'utf8');
    throw failed(context, {
      what: `is in a file that other users can read: ${file}`,
      expected: 'mode 0600',
      seen: `mode 0${(mode & 0o777).toString(8)}`,
      next: `chmod 600 ${quote(file)}`,
    });
  } catch (error) {
    if (error instanceof FleetError) throw error;
    const next = fixes[codeOf(error)]?.(file) ?? `check its owner and mode: ls -l ${quote(file)}`;
    throw failed(context, { what: `cannot be read from ${file}`, seen: whyNot(error), next }, error);
  }
}

const fixes: Readonly<Record<string, (file: string) => string>> = {
  ENOENT: writeIt,
  EISDIR: () => 'correct its path in the inventory: it must be a file',
};

/** Returns a command that writes a secret from stdin to a file that only its owner can read. */
export function writeIt(file: string): string {
  return `write it there and press Ctrl-D: (umask 077; cat > ${quote(file)})`;
}

/** Runs a command that prints the secret; errors show only its stderr. */
function readCommand(command: string, context: SecretContext): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(context.env).filter(([name]) => context.hide?.includes(name) !== true),
  );
  const options = { env, cwd: context.cwd, timeout: 120_000, maxBuffer: 1 << 20, signal: context.signal };
  return new Promise((resolve, reject) => {
    const child = execFile('/bin/sh', ['-c', command], options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const output = stderr.trim().split('\n').slice(-3).join(' · ');
      const code =
        typeof error.code === 'number' ? `exit code ${error.code}` : (error.signal ?? 'not started');
      reject(
        failed(context, {
          what: `cannot be read: the command ${command} failed`,
          seen: output === '' ? code : `${code}: ${output}`,
          next: `run it yourself: ${command}`,
        }),
      );
    });
    child.stdin?.end();
  });
}

function failed(context: SecretContext, problem: Omit<Problem, 'code'>, cause?: unknown): Error {
  const what = `${context.purpose} ${problem.what}`;
  return usageError({ code: 'inventory.secret', step: 'inventory', ...problem, what }, cause);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Days before the expiry from which a warning is shown. */
const warningDays = 21;

/** Returns a warning if a credential has expired or expires soon, by the wall clock. */
export function expiryWarning(expires: string | undefined, now: number): Problem | undefined {
  if (expires === undefined) return undefined;
  const days = Math.ceil((Date.parse(expires) - now) / 86_400_000);
  if (days > warningDays) return undefined;
  return {
    code: days <= 0 ? 'inventory.token-expired' : 'inventory.token-expires',
    step: 'inventory',
    what: days <= 0 ? `the token expired on ${expires}` : `the token expires on ${expires}, in ${days} days`,
    next: 'create a new one in Azure DevOps, store it in the same place, then run azp-fleet provision',
  };
}

type WithSecrets = Pick<Fleet, 'credential' | 'registries' | 'hosts'>;

/** Returns the source of the PAT or of the service principal's secret. */
export function credentialSource({ credential }: Pick<Fleet, 'credential'>): SecretSource {
  return credential.kind === 'pat' ? credential.token : credential.secret;
}

/** Returns the sources of all secrets, each once: credential, registries, passwords, webhooks. */
function secretSources(fleet: WithSecrets): SecretSource[] {
  const all = [
    credentialSource(fleet),
    ...Object.values(fleet.registries).map(({ secret }) => secret),
    ...fleet.hosts.flatMap(({ ssh, webhook }) =>
      [ssh.sudoPassword, ssh.loginPassword, webhook?.url].filter((source) => source !== undefined),
    ),
  ];
  return [...new Map(all.map((source) => [JSON.stringify(source), source])).values()];
}

/** Returns the variables with secrets of the inventory: child processes run without them. */
export function secretVariables(fleet: WithSecrets): string[] {
  return secretSources(fleet).flatMap((source) => ('env' in source ? [source.env] : []));
}

/** Returns the secrets that are known without prompts and commands. */
export function peekSecrets(
  fleet: WithSecrets,
  env: Readonly<Record<string, string | undefined>>,
): readonly Secret[] {
  return secretSources(fleet).flatMap((source) => peekSecret(source, env) ?? []);
}

/** Text that is pasted with a token by mistake. */
const extras: readonly (readonly [pattern: RegExp, seen: string])[] = [
  [/^(["']).*\1$/s, 'quotes around it'],
  [/[\r\n]/, 'more than one line'],
  [/\s/, 'spaces in it'],
];
/** As in a shell file. Only for PATs: a service principal's secret may look like this. */
const assigned = [/^(?:export )?[A-Z][A-Z0-9_]*=/, 'a variable name before it'] as const;

/** Throws a usage error if a token or certificate cannot work: the server would only reject it. `now`: milliseconds since the epoch. */
export function checkToken(
  token: Secret,
  source: SecretSource,
  credential: CredentialSource,
  now: number,
): void {
  const text = token.reveal();
  if (credential.kind !== 'pat' && credential.proof === 'certificate') {
    checkCertificate(text, source, now);
    return;
  }
  const found = (credential.kind === 'pat' ? [assigned, ...extras] : extras).find(([pattern]) =>
    pattern.test(text),
  );
  if (found === undefined) return;
  throw usageError({
    code: 'inventory.secret',
    step: 'inventory',
    what: `${describeSource(source)} contains more than the token`,
    expected: 'the token alone, on one line',
    seen: found[1],
    next: 'file' in source ? writeIt(source.file) : `put only the token into ${describeSource(source)}`,
  });
}

function checkCertificate(text: string, source: SecretSource, now: number): void {
  const certificate = readCertificate(text);
  const mistake = 'key' in certificate ? timeMistake(certificate, now) : certificate;
  if (mistake === undefined) return;
  throw usageError({
    code: 'inventory.secret',
    step: 'inventory',
    what: `${describeSource(source)} has no certificate that can sign`,
    expected: 'an RSA key with its valid certificate, as PEM',
    ...mistake,
  });
}

/** Shapes of Azure DevOps tokens: 52 characters of base32, or 84 with the issuer's mark; and of private keys. */
const shapes = [
  /^[a-z2-7]{52}$/,
  /^[A-Za-z0-9]{72,}AZDO[A-Za-z0-9]{4,}$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** Returns whether a text looks like a literal secret instead of a reference. */
export function looksLikeSecret(text: string): boolean {
  return shapes.some((shape) => shape.test(text.trim()));
}
