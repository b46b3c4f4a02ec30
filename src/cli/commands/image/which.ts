import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { loadFleet } from '../../../inventory/load.ts';
import { selectHosts } from '../../../inventory/select.ts';
import { painter } from '../../../render/color.ts';
import { imageText } from '../../../render/images.ts';
import { createProgress } from '../../../render/progress.ts';
import { lookAtHosts } from '../../../status/collect.ts';
import { imageRow } from '../../../status/image.ts';
import type { CommandInput } from '../../command.ts';
import { openTransport } from '../../transport.ts';

/** Shows which image each host gets and why. Changes nothing; Azure DevOps is not asked. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const fleet = loadFleet(input.inventory, context);
  const hosts = selectHosts(fleet, [...input.options.list('limit'), ...input.positionals]);
  const json = input.options.flag('json');
  const progress = createProgress(context, { hosts: hosts.map(({ name }) => name), json });
  const transport = openTransport(context, { fleet }, progress, { json });
  try {
    const looks = await lookAtHosts(hosts, {
      transport,
      emit: progress.sink,
      signal: context.signal,
      parallel: 50,
      probe: undefined,
    });
    await progress.finish();
    const rows = looks.map(imageRow);
    const options = { width: context.stdout.columns ?? 120, paint: painter(context.stdout, context.env) };
    context.stdout.write(
      json ? `${JSON.stringify({ hosts: rows }, undefined, 2)}\n` : imageText(rows, options),
    );
    const bad = rows.some(({ problem, wanted }) => {
      return problem !== undefined || (wanted?.kind === 'chosen' && !wanted.choice.ok);
    });
    return bad ? ExitCode.hostFailed : ExitCode.ok;
  } finally {
    await progress.finish();
    await transport.close();
  }
}
