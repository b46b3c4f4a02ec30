import type { Context } from '../../../shared/base/context.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { painter } from '../../render/color.ts';
import { imageText } from '../../render/images.ts';
import { lookAtHosts, tellEach } from '../../../fleet/status/collect.ts';
import { imageRow, type ImageRow } from '../../../fleet/status/image.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { withHosts } from '../../run/with-hosts.ts';

/** Shows which image each host gets and why. Changes nothing; Azure DevOps is not asked. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { root, signal } = context;
  const looks = await withHosts(context, input, ({ hosts, transport, emit }) =>
    lookAtHosts(hosts, { transport, root, emit, log: context.log, signal, parallel: 50, probe: undefined }),
  );
  const { told: rows, problems } = tellEach(looks, context.log, imageRow);
  const style = { width: context.stdout.columns ?? 120, paint: painter(context.stdout, context.env) };
  return {
    exitCode: rows.some(isBad) ? ExitCode.hostFailed : ExitCode.ok,
    json: { hosts: rows },
    problems,
    text: () => imageText(rows, style),
  };
}

function isBad({ problem, wanted }: ImageRow): boolean {
  return problem !== undefined || (wanted?.kind === 'chosen' && !wanted.choice.ok);
}
