import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { SecretSource } from '../../fleet/inventory/fleet.ts';
import {
  looksLikeSecret,
  peekSecrets,
  resolveSecret,
  secretVariables,
} from '../../fleet/inventory/secret.ts';
import type { Context } from '../../shared/base/context.ts';
import { codeOf, FleetError, usageError } from '../../shared/base/errors.ts';
import { Secret } from '../../shared/base/secret.ts';
import { problemLines } from '../render/problem.ts';
import type { Choice } from './question.ts';
import { lineWidth, tell, typedPath, type Wizard } from './wizard-context.ts';

type Kind = 'paste' | 'env' | 'file' | 'cmd' | 'prompt';

interface SecretQuestion {
  /** `token`, `sudo`: where its questions' keys begin. */
  readonly key: string;
  /** `the access token` */
  readonly what: string;
  /** The usual variable. */
  readonly variable: string;
  /** Name of the file that a pasted one is kept in; undefined: none is taken. */
  readonly pasted?: string;
}

/** Where a secret is found. One that is pasted is put into a file of its owner's alone; nothing else is written. */
export async function askSecretSource<Other extends string = never>(
  wizard: Wizard,
  { key, what, variable, pasted }: SecretQuestion,
  others: readonly Choice<Other>[] = [],
): Promise<SecretSource | Other> {
  const { prompts } = wizard;
  const kind = await prompts.choose<Kind | Other>(`${key}.kept`, `Where is ${what} kept?`, [
    ...(pasted !== undefined && prompts.canAsk
      ? ([
          {
            name: 'nowhere yet: I paste it, and it is kept in a file that only I can read',
            value: 'paste',
            short: 'pasted',
          },
        ] as const)
      : []),
    { name: 'in an environment variable', value: 'env' },
    { name: 'in a file that only I can read', value: 'file' },
    { name: 'a command prints it, e.g. pass or op', value: 'cmd' },
    { name: 'ask me each time', value: 'prompt' },
    ...others,
  ]);
  switch (kind) {
    case 'paste':
      return { file: await takePasted(wizard, key, what, pasted ?? key) };
    case 'env':
      return {
        env: await prompts.text(`${key}.env`, 'Variable:', { default: variable, check: checkVariable }),
      };
    case 'file':
      return {
        file: typedPath(wizard, await prompts.text(`${key}.file`, 'File:', { check: checkPlace })),
      };
    case 'cmd':
      return { cmd: await prompts.text(`${key}.cmd`, 'Command:', { check: checkPlace }) };
    case 'prompt':
      return { prompt: true };
    default:
      return kind;
  }
}

/** From then on the answer is the file: what was pasted is asked for once. */
async function takePasted(wizard: Wizard, key: string, what: string, name: string): Promise<string> {
  const file = secretFile(wizard.context, name);
  for (;;) {
    const secret = await askHidden(
      wizard,
      `${what.charAt(0).toUpperCase()}${what.slice(1)}${existsSync(file) ? ` (replaces ${file})` : ''}:`,
    );
    if (!/^[\x21-\x7e]+$/.test(secret.reveal().trim())) {
      tell(wizard, `✗ ${what} is one word without blanks; paste it whole`);
      continue;
    }
    keepSecret(file, secret);
    tell(wizard, `✔ kept in ${file} (mode 0600)`);
    wizard.prompts.settle({ [`${key}.kept`]: 'file', [`${key}.file`]: file });
    return file;
  }
}

/** The same, tried at once. Undefined when it cannot be had and the user gives up. */
export async function askWorkingSource(
  wizard: Wizard,
  question: SecretQuestion,
): Promise<SecretSource | undefined> {
  for (;;) {
    const source = await askSecretSource(wizard, question);
    try {
      await wizard.secret(source, question.what, 'again');
      return source;
    } catch (error) {
      if (!(error instanceof FleetError) || !wizard.prompts.canAsk) throw error;
      wizard.say(...problemLines(error.problem, lineWidth(wizard)));
      if (!(await wizard.prompts.confirm(`${question.key}.again`, 'Name another place?', true)))
        return undefined;
    }
  }
}

function checkVariable(text: string): string | undefined {
  if (looksLikeSecret(text)) return literal;
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? undefined : 'The name of a variable, such as AZP_TOKEN';
}

function checkPlace(text: string): string | undefined {
  if (looksLikeSecret(text)) return literal;
  return text === '' ? 'Needed' : undefined;
}

const literal = 'That looks like the secret itself. It does not belong here: say where it is found';

/** Where a secret that was pasted is kept: `~/.config/azp-fleet/NAME`, or below $XDG_CONFIG_HOME. */
function secretFile({ env, home }: Pick<Context, 'env' | 'home'>, name: string): string {
  return path.join(env['XDG_CONFIG_HOME'] || path.join(home, '.config'), 'azp-fleet', name);
}

/** Writes it whole or not at all, readable by its owner only. An older one is replaced. */
function keepSecret(file: string, secret: Secret): void {
  const written = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    rmSync(written, { force: true });
    writeFileSync(written, `${secret.reveal().trim()}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw usageError(
      {
        code: 'setup.secret',
        what: `the secret cannot be kept in ${file}`,
        seen: codeOf(error),
        next: 'name another place for it, or make the folder one that you can write',
      },
      error,
    );
  }
}

/** How setup reads secrets, and what it starts programs with. */
interface SecretReader {
  readonly read: Wizard['secret'];
  readonly know: Wizard['know'];
  /** The environment for programs that reach hosts: without what holds a secret of ours, named already or not. */
  readonly environment: () => Context['env'];
}

/** Reads each secret once, hides it from the log, and remembers which variables hold one. */
export function secretReader(context: Context, ask: (message: string) => Promise<string>): SecretReader {
  const found = new Map<string, Promise<Secret>>();
  const names = new Set(Object.keys(context.env).filter(looksOurs));
  return {
    environment: () => Object.fromEntries(Object.entries(context.env).filter(([name]) => !names.has(name))),
    know: (fleet) => {
      for (const name of secretVariables(fleet)) names.add(name);
      for (const secret of peekSecrets(fleet, context.env)) context.log.redact(secret);
    },
    read: (source, purpose, again) => {
      if ('env' in source) names.add(source.env);
      const key = JSON.stringify(source);
      const known = again === undefined ? found.get(key) : undefined;
      const secret = known ?? resolveSecret(source, { ...context, purpose, ask, hide: [...names] });
      found.set(key, secret);
      secret.then(
        (value) => context.log.redact(value),
        () => found.delete(key),
      );
      return secret;
    },
  };
}

/** What a name has that stands for a secret. */
const secret = /TOKEN|PASSW|SECRET|(^|_)PAT($|_)/i;
/** What our own secret is called: what else looks like one, a ProxyCommand may need to reach a host. */
const ours = /^(AZP|ADO|AZURE_?DEVOPS|SYSTEM)_?.*(TOKEN|PASSW|SECRET)|(^|_)PAT($|_)|^SUDO_PASSW/i;

/** Before there is an inventory nothing says which variables hold secrets: those that look like any. */
function looksSecret(name: string): boolean {
  return secret.test(name);
}

/** Those that look like the token or the passwords of a fleet. */
function looksOurs(name: string): boolean {
  return ours.test(name);
}

/** An environment without them, for programs that setup starts. */
export function harmless<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !looksSecret(name)));
}

/** Asks for a secret without showing it, and hides it from the log. */
export async function askHidden(
  { context, prompts }: Pick<Wizard, 'context' | 'prompts'>,
  text: string,
): Promise<Secret> {
  const secret = new Secret(await prompts.hidden(text));
  context.log.redact(secret);
  return secret;
}
