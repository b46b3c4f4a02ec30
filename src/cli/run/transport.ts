import type { Context } from '../../shared/base/context.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
import type { Progress } from '../render/progress.ts';
import { questionText } from '../../fleet/ssh/questions.ts';
import type { TransportParts } from '../../fleet/ssh/create-transport.ts';
import { askSecret, canAsk } from '../ask.ts';
import { resolve, withoutSecrets } from './secrets.ts';

/** What a way to the hosts is made of. Questions are put only where somebody can answer; with --json nobody is asked. */
export function transportParts(
  context: Context,
  fleet: Fleet,
  progress: Pick<Progress, 'sink' | 'aside'>,
  options: { readonly json: boolean; readonly bandwidth: number | undefined },
): TransportParts {
  const { home, user, log, clock } = context;
  const { bandwidth } = options;
  const read: TransportParts['resolveSecret'] = (source) => resolve(context, fleet, source, 'the password');
  return {
    home,
    user,
    env: withoutSecrets(context.env, fleet),
    log,
    clock,
    ask:
      canAsk(context) && !options.json
        ? (question) =>
            progress.aside(() =>
              askSecret(
                context,
                questionText(question, context.stderr.columns ?? 80),
                question.hidden ? undefined : 'shown',
              ),
            )
        : undefined,
    resolveSecret: (source) => ('prompt' in source ? progress.aside(() => read(source)) : read(source)),
    notice: (text) => progress.sink({ kind: 'note', text }),
    hosts: fleet.hosts,
    uploads: { ...fleet.uploads, ...defined({ bandwidth }) },
  };
}
