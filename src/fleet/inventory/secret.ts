import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';

import { codeOf, FleetError, type Problem, usageError, whyNot } from '../../shared/base/errors.ts';
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
  /** Variables that hold secrets of ours: `cmd` runs without them. */
  readonly hide?: readonly string[];
}

/** Reads a secret from where the inventory says it is. Rejects with a usage error that never quotes what was found. */
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

/** Bytes of a file that are looked at for a secret that nobody has asked for yet. */
const mostPeeked = 64 * 1024;

/** The secret as far as it is known without asking anybody or running anything; whoever needs it resolves it. */
function peekSecret(source: SecretSource, env: SecretContext['env']): Secret | undefined {
  const text = 'env' in source ? (env[source.env] ?? '') : 'file' in source ? peekFile(source.file) : '';
  const value = withoutEnd(text);
  return value === '' ? undefined : new Secret(value);
}

/** Empty where there is no such file. A pipe would wait for its writer, and give what it has only once. */
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

/** `the variable AZP_TOKEN`, for messages. */
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
    const next = cures[codeOf(error)]?.(file) ?? `check its owner and mode: ls -l ${quote(file)}`;
    throw failed(context, { what: `cannot be read from ${file}`, seen: whyNot(error), next }, error);
  }
}

const cures: Readonly<Record<string, (file: string) => string>> = {
  ENOENT: writeIt,
  EISDIR: () => 'correct its path in the inventory: it must be a file',
};

/** A command that takes the secret on stdin and lets nobody else read the file. */
export function writeIt(file: string): string {
  return `write it there and press Ctrl-D: (umask 077; cat > ${quote(file)})`;
}

/** What the command prints is the secret; only its stderr is ever shown. */
function readCommand(command: string, context: SecretContext): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(context.env).filter(([name]) => context.hide?.includes(name) !== true),
  );
  const options = { env, cwd: context.cwd, timeout: 120_000, maxBuffer: 1 << 20, signal: context.signal };
  return new Promise((resolve, reject) => {
    const child = execFile('/bin/sh', ['-c', command], options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const said = stderr.trim().split('\n').slice(-3).join(' · ');
      const code =
        typeof error.code === 'number' ? `exit code ${error.code}` : (error.signal ?? 'not started');
      reject(
        failed(context, {
          what: `cannot be read: the command ${command} failed`,
          seen: said === '' ? code : `${code}: ${said}`,
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

/** Days before the expiry from which on everybody is told. */
const warningDays = 21;

/** A warning when a credential has expired or will soon, by the wall clock. */
export function expiryWarning(expires: string | undefined, now: number): Problem | undefined {
  if (expires === undefined) return undefined;
  const days = Math.ceil((Date.parse(expires) - now) / 86_400_000);
  if (days > warningDays) return undefined;
  return {
    code: days <= 0 ? 'inventory.token-expired' : 'inventory.token-expires',
    step: 'inventory',
    what: days <= 0 ? `the token expired on ${expires}` : `the token expires on ${expires}, in ${days} days`,
    next: 'create a new one in Azure DevOps, store it where the inventory refers to, then run azp-fleet provision',
  };
}

type WithSecrets = Pick<Fleet, 'credential' | 'registries' | 'hosts'>;

/** The PAT, or the service principal's secret. */
export function credentialSource({ credential }: Pick<Fleet, 'credential'>): SecretSource {
  return credential.kind === 'pat' ? credential.token : credential.secret;
}

/** Where all secrets of the inventory are, each place once: credential, registries, passwords, webhooks. */
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

/** Variables that hold secrets of the inventory: programs that we start do without them. */
export function secretVariables(fleet: WithSecrets): string[] {
  return secretSources(fleet).flatMap((source) => ('env' in source ? [source.env] : []));
}

/** The secrets that are known without asking anybody or running anything. */
export function peekSecrets(
  fleet: WithSecrets,
  env: Readonly<Record<string, string | undefined>>,
): readonly Secret[] {
  return secretSources(fleet).flatMap((source) => peekSecret(source, env) ?? []);
}

/** What people leave beside a token when they paste it. */
const beside: readonly (readonly [pattern: RegExp, seen: string])[] = [
  [/^(["']).*\1$/s, 'quotes around it'],
  [/[\r\n]/, 'more than one line'],
  [/\s/, 'spaces in it'],
];
/** As in a file that a shell reads; a service principal's secret may look so by itself. */
const assigned = [/^(?:export )?[A-Z][A-Z0-9_]*=/, 'a variable name before it'] as const;

/** Throws a usage error where something stands beside the token: the server would say no more than that it is refused. */
export function checkToken(token: Secret, source: SecretSource, kind: CredentialSource['kind']): void {
  const text = token.reveal();
  const found = (kind === 'pat' ? [assigned, ...beside] : beside).find(([pattern]) => pattern.test(text));
  if (found === undefined) return;
  throw usageError({
    code: 'inventory.secret',
    step: 'inventory',
    what: `${describeSource(source)} contains more than the token`,
    expected: 'the token alone, on one line',
    seen: found[1],
    next:
      'file' in source ? writeIt(source.file) : `put only the token into ${describeSource(source)}`,
  });
}

/** Shapes of Azure DevOps tokens: 52 characters of base32, or 84 with the issuer's mark; and of private keys. */
const shapes = [
  /^[a-z2-7]{52}$/,
  /^[A-Za-z0-9]{72,}AZDO[A-Za-z0-9]{4,}$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** Whether a text looks like a secret that was pasted where a reference belongs. */
export function looksLikeSecret(text: string): boolean {
  return shapes.some((shape) => shape.test(text.trim()));
}
