import { askManagers, type ManagerAnswer } from '../../fleet/client/fleet-managers.ts';
import type { ManagerClient } from '../../fleet/client/manager-client.ts';
import type { EventSink } from '../../fleet/apply/events.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { answersText } from '../render/groups/answers.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { CommandInput } from '../command.ts';
import { openHosts } from './hosts.ts';
import { problemsAmong, type Result } from '../result.ts';
import { connected, notesOnly, overSsh, type Wiring } from './with-hosts.ts';

/** The managers of the chosen hosts. They can be asked more than once. */
export interface Managers {
  readonly emit: EventSink;
  /** `only`: names of hosts; none given: all that were chosen. */
  readonly ask: <T>(
    question: (manager: ManagerClient, host: HostSpec) => Promise<T>,
    only?: readonly string[],
  ) => Promise<readonly ManagerAnswer<T>[]>;
}

/** Needs no token: the managers have their own. `patterns`: which hosts. */
export async function withManagers<T>(
  context: Context,
  input: CommandInput,
  patterns: readonly string[],
  body: (managers: Managers) => Promise<T>,
  draw: Wiring<Transport>['draw'] = notesOnly,
): Promise<T> {
  const open = openHosts(context, input, patterns);
  const { signal, log } = context;
  return connected(context, input, open, { ...overSsh, draw }, ({ hosts, transport, emit }) =>
    body({
      emit,
      ask: (question, only) => {
        const asked = hosts.filter(({ name }) => only === undefined || only.includes(name));
        return askManagers(asked, transport, { parallel: 50, signal, log }, question);
      },
    }),
  );
}

/** Asks the managers of the chosen hosts once. */
export async function askEach<T>(
  context: Context,
  input: CommandInput,
  patterns: readonly string[],
  question: (manager: ManagerClient, host: HostSpec) => Promise<T>,
): Promise<readonly ManagerAnswer<T>[]> {
  return withManagers(context, input, patterns, (managers) => managers.ask(question));
}

/** The text of each answer on stdout, equal ones once; the problems on stderr. `text` gets what the hosts are called. */
export function answered<T>(
  answers: readonly ManagerAnswer<T>[],
  text: (host: string, value: T) => string,
): Result {
  const problems = problemsAmong(answers);
  return {
    exitCode: problems.length > 0 ? ExitCode.hostFailed : ExitCode.ok,
    json: { hosts: answers },
    problems,
    text: () => answersText(answers, text),
    aside: problems,
  };
}
