import pLimit from 'p-limit';

import type { Context } from '../../../base/context.ts';
import { ExitCode, FleetError, usageError } from '../../../base/errors.ts';
import { sh } from '../../../base/shell.ts';
import type { HostSpec } from '../../../inventory/fleet.ts';
import { loadFleet } from '../../../inventory/load.ts';
import { selectHosts } from '../../../inventory/select.ts';
import type { EventSink } from '../../../apply/events.ts';
import { askedOutput } from '../../../render/asked-output.ts';
import { painter } from '../../../render/color.ts';
import { execText, type HostAnswer } from '../../../render/exec.ts';
import { createProgress } from '../../../render/progress.ts';
import type { ScriptOptions, Transport } from '../../../ssh/transport.ts';
import type { CommandInput } from '../../command.ts';
import { openTransport } from '../../transport.ts';

/** Runs one command on many hosts. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { options, rest } = input;
  const json = options.flag('json');
  const text = rest.length === 1 ? (rest[0] ?? '') : sh`${rest}`;
  if (text === '') throw noCommand();
  const fleet = loadFleet(input.inventory, context);
  const hosts = selectHosts(fleet, [...options.list('limit'), ...input.positionals]);
  const progress = createProgress(context, { hosts: hosts.map(({ name }) => name), json });
  const transport = openTransport(context, { fleet }, progress, { json });
  const limit = pLimit(options.integer('parallel', { min: 1, max: 1000 }) ?? 50);
  const script: ScriptOptions = {
    as: options.flag('login') ? 'login' : 'root',
    totalTimeoutMs: options.duration('timeout') ?? 60_000,
    signal: context.signal,
  };
  try {
    const answers = await Promise.all(
      hosts.map((host) => limit(() => onHost(transport, host, text, script, progress.sink))),
    );
    await progress.finish();
    const { to, clean } = askedOutput(context, json);
    const paint = painter(context.stdout, context.env);
    to.write(
      json
        ? `${JSON.stringify({ schema: 1, hosts: answers }, undefined, 2)}\n`
        : `${execText(answers, { paint, width: (context.stdout.columns ?? 80) - 1, clean })}\n`,
    );
    const well = answers.every((answer) => 'result' in answer && answer.result.code === 0);
    return well ? ExitCode.ok : ExitCode.hostFailed;
  } finally {
    await progress.finish();
    await transport.close();
  }
}

async function onHost(
  transport: Transport,
  { name, ssh }: HostSpec,
  text: string,
  options: ScriptOptions,
  emit: EventSink,
): Promise<HostAnswer> {
  try {
    emit({ kind: 'host-state', host: name, state: 'connecting' });
    const session = await transport.connect(
      { name, ssh },
      options.signal === undefined ? {} : { signal: options.signal },
    );
    emit({ kind: 'host-state', host: name, state: 'applying' });
    const result = await session.script(text, {
      ...options,
      onLine: (line) => emit({ kind: 'host-state', host: name, state: 'applying', text: line }),
    });
    await session.close();
    emit({
      kind: 'host-state',
      host: name,
      state: result.code === 0 ? 'ok' : 'failed',
      text: `exit ${result.code}`,
    });
    return { host: name, result };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { problem } = error.at({ host: name });
    emit({ kind: 'host-state', host: name, state: 'unreachable', text: problem.what });
    return { host: name, problem };
  }
}

function noCommand(): FleetError {
  return usageError({
    code: 'usage.exec',
    what: 'there is no command to run',
    next: 'put it behind two dashes: azp-fleet exec -- nvidia-smi -L',
  });
}
