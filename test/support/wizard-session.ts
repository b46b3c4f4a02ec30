import { createAzureClient } from '../../src/shared/azure/create-client.ts';
import { createTokenPermissions } from '../../src/shared/azure/token-permissions.ts';
import { patCredential } from '../../src/shared/azure/http/credential.ts';
import type { Context } from '../../src/shared/base/context.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { systemClock } from '../../src/shared/base/clock.ts';
import { machineRoot } from '../../src/shared/base/host-root.ts';
import { Redactor } from '../../src/shared/base/redact.ts';
import { Secret } from '../../src/shared/base/secret.ts';
import { resolveSecret } from '../../src/fleet/inventory/secret.ts';
import { type Given, Interview } from '../../src/cli/setup/interview.ts';
import type { Answer as Supplied } from '../../src/cli/setup/question.ts';
import { terminalAsker } from '../../src/cli/setup/terminal.ts';
import type { Wizard } from '../../src/cli/setup/wizard-context.ts';
import { type Answer, Keyboard } from './keyboard.ts';

export interface WizardSession {
  readonly wizard: Wizard;
  readonly interview: Interview;
  readonly keyboard: Keyboard;
  /** Lines printed between the questions. */
  readonly printed: string[];
  /** Returns the answers that are saved for the next start. */
  readonly kept: () => readonly Given[];
}

interface WizardOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly home?: string;
  readonly cwd?: string;
  /** stdin is not a terminal. */
  readonly noTerminal?: boolean;
  readonly supplied?: Readonly<Record<string, Supplied>>;
  readonly before?: readonly Given[];
  readonly openTransport?: Wizard['openTransport'];
  readonly sshConfig?: string;
}

/** Starts the wizard with real prompts on a fake terminal and a real client of the organization. */
export function startWizard(options: WizardOptions = {}): WizardSession {
  const {
    env = {},
    home = '/home/me',
    cwd = '/lab',
    supplied = {},
    before = [],
    noTerminal = false,
  } = options;
  const keyboard = new Keyboard();
  const printed: string[] = [];
  let kept: readonly Given[] = before;
  const context: Context = {
    env,
    cwd,
    home,
    user: 'me',
    stdin: keyboard.stdin,
    stdout: keyboard.stdout,
    stderr: keyboard.stdout,
    unfiltered: { stdout: keyboard.stdout, stderr: keyboard.stdout },
    signal: keyboard.signal,
    clock: systemClock(1),
    root: machineRoot,
    log: silentLogger,
    redactor: new Redactor(),
  };
  const interview = new Interview({
    asker: noTerminal ? undefined : terminalAsker(context),
    supplied: new Map(Object.entries(supplied)),
    before,
    keep: (given) => (kept = given),
    say: (line) => void printed.push(line),
  });
  const wizard: Wizard = {
    context,
    prompts: interview,
    secret: (source, purpose) => resolveSecret(source, { ...context, purpose }),
    know: () => undefined,
    azure: ({ organization, secret }) => {
      const rest = {
        organization,
        credential: patCredential(new Secret(secret.reveal())),
        log: silentLogger,
        signal: context.signal,
        clock: context.clock,
      };
      return { ...createAzureClient(rest), ...createTokenPermissions(rest) };
    },
    notices: () => [],
    say: (...lines) => {
      if (!interview.silent) printed.push(...lines);
    },
    openTransport:
      options.openTransport ??
      ((_ask, inventory) => {
        throw new Error(`unexpected connection, with ${inventory.map(({ name }) => name).join(' ')}`);
      }),
    ...(options.sshConfig === undefined ? {} : { sshConfig: options.sshConfig }),
  };
  return { wizard, interview, keyboard, printed, kept: () => kept };
}

/** Answers the questions while they run, including Escape. */
export async function answering<T>(
  { keyboard, interview }: WizardSession,
  asked: () => Promise<T>,
  ...script: readonly Answer[]
): Promise<T> {
  const done = interview.run(asked);
  await Promise.race([keyboard.answer(...script), done.then(() => undefined)]);
  return done;
}
