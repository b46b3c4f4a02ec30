import type { EventSink } from '../../fleet/apply/events.ts';
import { askManagers, type ManagerAnswer } from '../../fleet/client/fleet-managers.ts';
import type { ManagerClient } from '../../fleet/client/manager-client.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import type { CommandInput } from '../command.ts';
import { withoutOwnName } from '../render/alike.ts';
import { problemsAmong, type Result } from '../result.ts';
import { connected, notesOnly, overSsh, type Wiring } from './hosts.ts';
import { openHosts } from './inventory.ts';

/** The managers of the chosen hosts. */
export interface Managers {
  readonly emit: EventSink;
  /** Sends a request to each manager. `only`: names of hosts; undefined: all chosen ones. */
  readonly ask: <T>(
    question: (manager: ManagerClient, host: HostSpec) => Promise<T>,
    only?: readonly string[],
  ) => Promise<readonly ManagerAnswer<T>[]>;
}

/** Runs a command on managers. It needs no token: each manager has its own. `patterns`: the hosts. */
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

/** Sends one request to each manager of the chosen hosts. */
export async function askEach<T>(
  context: Context,
  input: CommandInput,
  patterns: readonly string[],
  question: (manager: ManagerClient, host: HostSpec) => Promise<T>,
): Promise<readonly ManagerAnswer<T>[]> {
  return withManagers(context, input, patterns, (managers) => managers.ask(question));
}

/** Returns the result: texts of the answers for stdout, problems for stderr. For `text` see `answersText`. */
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

/**
 * Returns the text of each answer, equal texts of several hosts once. `text` gets the name of the host, or the names of
 * several.
 */
export function answersText<T>(
  answers: readonly ManagerAnswer<T>[],
  text: (host: string, value: T) => string,
): string {
  const given = answers.filter((answer) => 'value' in answer);
  const groups = Map.groupBy(given, ({ host, value }) => withoutOwnName(host, text('', value)));
  return [...groups.values()]
    .map((group) => {
      const [{ host, value }] = group as [(typeof given)[number], ...typeof given];
      return group.length === 1
        ? text(host, value)
        : text(foldNames(group.map((each) => each.host)), withoutOwnName(host, value));
    })
    .join('');
}
