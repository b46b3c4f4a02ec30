import { existsSync } from 'node:fs';

import { FleetError } from '../../../shared/base/errors.ts';
import { looksLikeSecret } from '../../../fleet/inventory/check/literal-secret.ts';
import type { SecretSource } from '../../../fleet/inventory/fleet.ts';
import { problemLines } from '../../render/problem.ts';
import type { Choice } from '../interview/question.ts';
import { tell, typedPath, widthOf, type Wizard } from '../wizard-context.ts';
import { askHidden } from './ask-hidden.ts';
import { keepSecret, secretFile } from './keep-secret.ts';

type Kind = 'paste' | 'env' | 'file' | 'cmd' | 'prompt';

export interface SecretQuestion {
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
      wizard.say(...problemLines(error.problem, widthOf(wizard)));
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
