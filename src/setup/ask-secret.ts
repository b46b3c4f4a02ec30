import { FleetError } from '../base/errors.ts';
import type { SecretSource } from '../inventory/fleet.ts';
import { looksLikeSecret } from '../inventory/check/literal-secret.ts';
import { problemLines } from '../render/problem.ts';
import { widthOf, type Wizard } from './wizard-context.ts';

type Kind = 'env' | 'file' | 'cmd' | 'prompt';

/** Where a secret is found; the secret itself is never asked for here. */
export async function askSecretSource(
  { prompts }: Wizard,
  what: string,
  variable: string,
): Promise<SecretSource> {
  const kind = await prompts.choose<Kind>(`Where is ${what} kept?`, [
    { name: 'in an environment variable', value: 'env' },
    { name: 'in a file that only I can read', value: 'file' },
    { name: 'a command prints it, e.g. pass or op', value: 'cmd' },
    { name: 'ask me each time', value: 'prompt' },
  ]);
  if (kind === 'prompt') return { prompt: true };
  if (kind === 'env')
    return { env: await prompts.text('Variable:', { default: variable, check: checkVariable }) };
  if (kind === 'file') return { file: await prompts.text('File:', { check: checkPlace }) };
  return { cmd: await prompts.text('Command:', { check: checkPlace }) };
}

/** The same, tried at once. Undefined when it cannot be had and the user gives up. */
export async function askWorkingSource(
  wizard: Wizard,
  what: string,
  variable: string,
): Promise<SecretSource | undefined> {
  for (;;) {
    const source = await askSecretSource(wizard, what, variable);
    try {
      await wizard.secret(source, what, 'again');
      return source;
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      wizard.say(...problemLines(error.problem, widthOf(wizard)));
      if (!(await wizard.prompts.confirm('Name another place?', true))) return undefined;
    }
  }
}

function checkVariable(text: string): string | undefined {
  if (looksLikeSecret(text)) return pasted;
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? undefined : 'The name of a variable, such as AZP_TOKEN';
}

function checkPlace(text: string): string | undefined {
  if (looksLikeSecret(text)) return pasted;
  return text === '' ? 'Needed' : undefined;
}

const pasted = 'That looks like the secret itself. It does not belong here: say where it is found';
