import { createAzureClient } from '../../src/shared/azure/create-client.ts';
import { createFirstLook } from '../../src/shared/azure/first-look.ts';
import { patCredential } from '../../src/shared/azure/http/credential.ts';
import type { Context } from '../../src/shared/base/context.ts';
import { silentLogger } from '../../src/shared/base/log.ts';
import { systemClock } from '../../src/shared/base/clock.ts';
import { machineRoot } from '../../src/shared/base/host-root.ts';
import { Secret } from '../../src/shared/base/secret.ts';
import { resolveSecret } from '../../src/fleet/inventory/secret.ts';
import { type Given, Interview } from '../../src/cli/setup/interview.ts';
import type { Answer as Supplied } from '../../src/cli/setup/question.ts';
import { terminalAsker } from '../../src/cli/setup/terminal.ts';
import type { Wizard } from '../../src/cli/setup/wizard-context.ts';
import { type Answer, Keyboard } from './keyboard.ts';

export interface Sitting {
  readonly wizard: Wizard;
  readonly interview: Interview;
  readonly keyboard: Keyboard;
  /** What was said between the questions. */
  readonly said: string[];
  /** The answers as they would be kept for the next start. */
  readonly kept: () => readonly Given[];
}

interface SittingOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly home?: string;
  readonly cwd?: string;
  /** There is no terminal. */
  readonly alone?: boolean;
  readonly supplied?: Readonly<Record<string, Supplied>>;
  readonly before?: readonly Given[];
  readonly openTransport?: Wizard['openTransport'];
  readonly sshConfig?: string;
}

/** The wizard's questions: real prompts on a stand-in terminal, a real client for the organization. */
export function sit(options: SittingOptions = {}): Sitting {
  const { env = {}, home = '/home/me', cwd = '/lab', supplied = {}, before = [], alone = false } = options;
  const keyboard = new Keyboard();
  const said: string[] = [];
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
  };
  const interview = new Interview({
    asker: alone ? undefined : terminalAsker(context),
    supplied: new Map(Object.entries(supplied)),
    before,
    keep: (given) => (kept = given),
    say: (line) => void said.push(line),
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
      return { ...createAzureClient(rest), ...createFirstLook(rest) };
    },
    notices: () => [],
    say: (...lines) => {
      if (!interview.silent) said.push(...lines);
    },
    openTransport:
      options.openTransport ??
      ((_ask, inventory) => {
        throw new Error(`no host is asked here, beside ${inventory.map(({ name }) => name).join(' ')}`);
      }),
    ...(options.sshConfig === undefined ? {} : { sshConfig: options.sshConfig }),
  };
  return { wizard, interview, keyboard, said, kept: () => kept };
}

/** Answers while the questions run, and goes back where the answers say so. */
export async function answering<T>(
  { keyboard, interview }: Sitting,
  asked: () => Promise<T>,
  ...script: readonly Answer[]
): Promise<T> {
  const done = interview.run(asked);
  await Promise.race([keyboard.answer(...script), done.then(() => undefined)]);
  return done;
}
