import { createAzureClient } from '../../../azure/create-client.ts';
import { patCredential } from '../../../azure/http/credential.ts';
import type { Context } from '../../../base/context.ts';
import { defined } from '../../../base/defined.ts';
import { ExitCode, usageError } from '../../../base/errors.ts';
import { say } from '../../../render/lines/say.ts';
import { terminalPrompts } from '../../../setup/prompts.ts';
import { secretReader } from '../../../setup/secret-reader.ts';
import { runSetup } from '../../../setup/wizard.ts';
import type { Wizard } from '../../../setup/wizard-context.ts';
import { defaultUploads } from '../../../inventory/schema/defaults.ts';
import { createTransport } from '../../../ssh/create-transport.ts';
import { version } from '../../../base/version.ts';
import { canAsk } from '../../ask.ts';
import { parseArguments } from '../../parse.ts';
import { runCommand } from '../../run-command.ts';
import type { CommandInput, CommandSpec } from '../../command.ts';

export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  if (!canAsk(context))
    throw usageError({
      code: 'usage.no-terminal',
      what: 'setup asks questions, and there is no terminal to ask on',
      next: 'write an inventory without being asked: azp-fleet init HOST…',
    });
  const wizard = openWizard(context, input.options.sshConfig(context.cwd));
  const { file, provision } = await runSetup(wizard, input.options.string('output') ?? 'inventory.yaml');
  if (file === undefined) return ExitCode.declined;
  if (provision.length === 0) {
    wizard.say('', `Next: azp-fleet plan ${file}`);
    return ExitCode.ok;
  }
  return await provisionNow(context, [file, ...provision], input.commands);
}

/** As if typed, so that every option has its default. */
async function provisionNow(
  context: Context,
  targets: readonly string[],
  commands: readonly CommandSpec[],
): Promise<ExitCode> {
  const parsed = parseArguments(['provision', ...targets], commands, {
    out: (text) => say(context.stdout, text),
    err: (text) => context.stderr.write(text),
    env: context.env,
    version,
    columns: context.stdout.columns ?? 80,
  });
  if (parsed === undefined) throw new TypeError('provision was not understood');
  return runCommand(context, parsed);
}

function openWizard(context: Context, sshConfig: string | undefined): Wizard {
  const prompts = terminalPrompts(context);
  const told: string[] = [];
  const { read, know, environment } = secretReader(context, (message) => prompts.hidden(message));
  return {
    context,
    prompts,
    ...defined({ sshConfig }),
    secret: read,
    know,
    openTransport: (ask, inventory) =>
      createTransport({
        ...context,
        env: environment(),
        ask,
        resolveSecret: (source) => read(source, 'the sudo password'),
        notice: (line) => told.push(line),
        uploads: defaultUploads,
        hosts: inventory,
      }),
    azure: (organization, token) =>
      createAzureClient({
        organization,
        credential: patCredential(token),
        log: context.log,
        signal: context.signal,
        clock: context.clock,
      }),
    notices: () => told.splice(0),
    say: (...lines) => say(context.stdout, lines.map((line) => `${line}\n`).join('')),
  };
}
