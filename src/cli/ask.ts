import type { Context } from '../shared/base/context.ts';
import { usageError } from '../shared/base/errors.ts';
import { foreignLine, foreignLines } from '../shared/base/foreign-text.ts';
import { Secret } from '../shared/base/secret.ts';

/** Returns whether a person can answer: both ends are a terminal. A piped "y" is not an answer. */
export function canAsk(context: Context): boolean {
  return context.stdin.isTTY === true && context.stderr.isTTY === true;
}

/** Asks a yes-or-no question on stderr; the default is no. Without a terminal it throws a usage error with `next`. */
export async function confirm(
  context: Context,
  message: string,
  next = 'run the command again with --yes to agree',
): Promise<boolean> {
  if (!canAsk(context))
    throw usageError({
      code: 'usage.no-terminal',
      what: 'stdin is not a terminal; use --yes',
      next,
    });
  const { default: inquirer } = await import('inquirer');
  const prompt = inquirer.createPromptModule({ input: context.stdin, output: context.unfiltered.stderr });
  const { answer } = await prompt<{ answer: boolean }>({
    type: 'confirm',
    name: 'answer',
    message: foreignLine(message),
    default: false,
  });
  return answer;
}

/** Asks for a secret without showing the input; `shown` shows it, for input that is not secret. */
export async function askSecret(context: Context, message: string, shown?: 'shown'): Promise<Secret> {
  const { default: inquirer } = await import('inquirer');
  const prompt = inquirer.createPromptModule({ input: context.stdin, output: context.unfiltered.stderr });
  const { answer } = await prompt<{ answer: string }>({
    type: shown === undefined ? 'password' : 'input',
    name: 'answer',
    message: foreignLines(message),
  });
  const secret = new Secret(answer);
  context.log.redact(secret);
  return secret;
}
