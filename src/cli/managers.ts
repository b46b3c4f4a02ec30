import { ExitCode } from '../base/errors.ts';
import type { Context } from '../base/context.ts';
import { foreignLine } from '../base/foreign-text.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { loadFleet } from '../inventory/load.ts';
import { selectHosts } from '../inventory/select.ts';
import { askManagers, type ManagerAnswer } from '../client/fleet-managers.ts';
import type { ManagerClient } from '../client/manager-client.ts';
import { problemLines } from '../render/problem.ts';
import type { createProgress, Progress } from '../render/progress.ts';
import type { CommandInput } from './command.ts';
import { openTransport } from './transport.ts';

/** The managers of the chosen hosts. They can be asked more than once. */
export interface Managers {
  readonly progress: Progress;
  /** `only`: names of hosts; none given: all that were chosen. */
  ask<T>(
    question: (manager: ManagerClient, host: HostSpec) => Promise<T>,
    only?: readonly string[],
  ): Promise<readonly ManagerAnswer<T>[]>;
  close(): Promise<void>;
}

/** Needs no token: the managers have their own. */
export function openManagers(
  context: Context,
  input: CommandInput,
  patterns: readonly string[],
  draw: typeof createProgress = notesOnly,
): Managers {
  const fleet = loadFleet(input.inventory, context);
  const hosts = selectHosts(fleet, [...input.options.list('limit'), ...patterns]);
  const json = input.options.flag('json');
  const progress = draw(context, { hosts: hosts.map(({ name }) => name), json });
  const transport = openTransport(context, { fleet }, progress, { json });
  return {
    progress,
    ask: (question, only) => {
      const asked = hosts.filter(({ name }) => only === undefined || only.includes(name));
      return askManagers(asked, transport, { parallel: 50, signal: context.signal }, question);
    },
    close: async () => {
      await progress.finish();
      await transport.close();
    },
  };
}

/** For short questions: what the connections have to say, and nothing else. */
function notesOnly(context: Context, { json }: { readonly json: boolean }): Progress {
  return {
    sink: (event) =>
      void (event.kind === 'note' && !json && context.stderr.write(`${foreignLine(event.text)}\n`)),
    aside: (question) => question(),
    finish: () => Promise.resolve(),
  };
}

/** Asks the managers of the chosen hosts once. */
export async function withManagers<T>(
  context: Context,
  input: CommandInput,
  patterns: readonly string[],
  question: (manager: ManagerClient, host: HostSpec) => Promise<T>,
): Promise<readonly ManagerAnswer<T>[]> {
  const managers = openManagers(context, input, patterns);
  try {
    return await managers.ask(question);
  } finally {
    await managers.close();
  }
}

/** One JSON document, or the text of each answer on stdout and each problem on stderr. */
export function showAnswers<T>(
  context: Context,
  input: CommandInput,
  answers: readonly ManagerAnswer<T>[],
  text: (host: string, value: T) => string,
): ExitCode {
  const failed = answers.some((answer) => 'problem' in answer);
  if (input.options.flag('json')) context.stdout.write(`${JSON.stringify({ hosts: answers }, null, 2)}\n`);
  else {
    for (const answer of answers)
      if ('value' in answer) context.stdout.write(text(answer.host, answer.value));
    for (const answer of answers) {
      if (!('problem' in answer)) continue;
      context.stderr.write(
        `${problemLines(answer.problem, (context.stderr.columns ?? 80) - 1).join('\n')}\n`,
      );
    }
  }
  return failed ? ExitCode.hostFailed : ExitCode.ok;
}
