import type { Context } from '../../../shared/base/context.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import type { EventSink } from '../../../fleet/apply/events.ts';
import { renewImage, type BuiltImage } from '../../../fleet/client/image-build.ts';
import type { ManagerClient } from '../../../fleet/client/manager-client.ts';
import { builtText } from '../../render/images.ts';
import { createProgress } from '../../render/progress.ts';
import type { CommandInput } from '../../command.ts';
import { answered, type Managers, withManagers } from '../../run/managers.ts';
import { pause } from '../../pause.ts';
import type { Result } from '../../result.ts';

/** Has the managers build or pull the agents' image now, and follows them to the end. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const fresh = input.options.flag('fresh');
  const building = async ({ ask, emit }: Managers) =>
    answered(await ask((manager, { name }) => build(context, manager, name, fresh, emit)), builtText);
  return withManagers(context, input, input.positionals, building, createProgress);
}

async function build(
  context: Context,
  manager: ManagerClient,
  host: string,
  fresh: boolean,
  emit: EventSink,
): Promise<BuiltImage> {
  const change = { host, id: 'image-build', title: 'build the agent image' };
  const started = context.clock.monotonic();
  const end = (ok: boolean, state: 'ok' | 'changed' | 'failed') => {
    emit({
      kind: 'change-end',
      ...change,
      ok,
      durationMs: Math.round(context.clock.monotonic() - started),
      resumed: false,
    });
    emit({ kind: 'host-state', host, state });
  };
  emit({ kind: 'change-start', ...change, since: started });
  try {
    const built = await renewImage(manager, fresh, {
      onLine: (line) => emit({ kind: 'change-output', host, id: change.id, line }),
      sleep: (ms) => pause(ms, context.signal, 'the manager goes on by itself'),
    });
    end(true, built.isNew ? 'changed' : 'ok');
    return built;
  } catch (error) {
    if (error instanceof FleetError) end(false, 'failed');
    throw error;
  }
}
