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
import { lineWidth, print, typedPath, type Wizard } from './wizard-context.ts';

type Kind = 'paste' | 'env' | 'file' | 'cmd' | 'prompt';

interface SecretQuestion {
  /** `token`, `sudo`: prefix of its questions' keys. */
  readonly key: string;
  /** `the access token` */
  readonly what: string;
  /** The default variable. */
  readonly variable: string;
  /** Name of the file for a pasted secret; undefined: pasting is not offered. */
  readonly pasted?: string;
}

/** Asks for the source of a secret. A pasted one is written to a file with mode 0600. */
export async function askSecretSource<Other extends string = never>(
  wizard: Wizard,
  { key, what, variable, pasted }: SecretQuestion,
  others: readonly Choice<Other>[] = [],
): Promise<SecretSource | Other> {
  const { prompts } = wizard;
  const kind = await prompts.choose<Kind | Other>(`${key}.kept`, `Where is ${what} stored?`, [
    ...(pasted !== undefined && prompts.canAsk
      ? ([
          {
            name: 'paste it now; it is saved in a file that only I can read',
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
      return { file: await askPasted(wizard, key, what, pasted ?? key) };
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

/** How often a pasted secret may be malformed before setup ends. */
const mostPastes = 5;

/** Asks for the secret and saves it; afterwards the answer is the file. */
async function askPasted(wizard: Wizard, key: string, what: string, name: string): Promise<string> {
  const file = secretFile(wizard.context, name);
  for (let asked = 0; asked < mostPastes; asked += 1) {
    const secret = await askHidden(
      wizard,
      `${what.charAt(0).toUpperCase()}${what.slice(1)}${existsSync(file) ? ` (replaces ${file})` : ''}:`,
    );
    if (!/^[\x21-\x7e]+$/.test(secret.reveal().trim())) {
      print(wizard, `✗ ${what} has no spaces; paste it again`);
      continue;
    }
    saveSecret(file, secret);
    print(wizard, `✔ saved in ${file} (mode 0600)`);
    wizard.prompts.settle({ [`${key}.kept`]: 'file', [`${key}.file`]: file });
    return file;
  }
  wizard.prompts.forget(`${key}.kept`);
  throw usageError({
    code: 'usage.answer',
    what: `${mostPastes} pasted texts cannot be ${what}`,
    expected: 'ASCII characters without spaces',
    next: `save ${what} in a file with mode 0600, run azp-fleet setup again, and choose "in a file that only I can read"`,
  });
}

/** Asks for the source of a secret and reads it. Returns undefined if it cannot be read and the user stops. */
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
      if (!(await wizard.prompts.confirm(`${question.key}.again`, 'Use another source?', true)))
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

const literal = 'That looks like the secret itself. Enter its source instead';

/** Returns the file of a pasted secret: `~/.config/azp-fleet/NAME`, or below $XDG_CONFIG_HOME. */
function secretFile({ env, home }: Pick<Context, 'env' | 'home'>, name: string): string {
  return path.join(env['XDG_CONFIG_HOME'] || path.join(home, '.config'), 'azp-fleet', name);
}

/** Writes a secret atomically, readable by its owner only. Replaces an older file. */
function saveSecret(file: string, secret: Secret): void {
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
        what: `the secret cannot be written to ${file}`,
        seen: codeOf(error),
        next: 'use another source, or make the folder writable',
      },
      error,
    );
  }
}

/** Reads secrets in setup, and provides the environment for child processes. */
interface SecretReader {
  readonly read: Wizard['secret'];
  readonly know: Wizard['know'];
  /** Returns the environment for child processes that reach hosts, without variables that hold our secrets. */
  readonly environment: () => Context['env'];
}

/** Returns a reader that reads each secret once, redacts it, and remembers the variables that hold secrets. */
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

/** Matches names of secrets. */
const secret = /TOKEN|PASSW|SECRET|(^|_)PAT($|_)/i;
/** Matches names of our own secrets; a ProxyCommand may need other ones to reach a host. */
const ours = /^(AZP|ADO|AZURE_?DEVOPS|SYSTEM)_?.*(TOKEN|PASSW|SECRET)|(^|_)PAT($|_)|^SUDO_PASSW/i;

/** Returns whether a variable looks like a secret; without an inventory only its name is known. */
function looksSecret(name: string): boolean {
  return secret.test(name);
}

/** Returns whether a variable looks like the token or a password of a fleet. */
function looksOurs(name: string): boolean {
  return ours.test(name);
}

/** Returns the environment without secrets, for child processes of setup. */
export function withoutSecretVariables<T>(env: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !looksSecret(name)));
}

/** Asks for a secret without showing it, and redacts it. */
export async function askHidden(
  { context, prompts }: Pick<Wizard, 'context' | 'prompts'>,
  text: string,
): Promise<Secret> {
  const secret = new Secret(await prompts.hidden(text));
  context.log.redact(secret);
  return secret;
}
