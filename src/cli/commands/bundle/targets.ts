import type { HostOutcome } from '../../../fleet/apply/outcome.ts';
import { reachHosts } from '../../../fleet/apply/survey.ts';
import type { Context } from '../../../shared/base/context.ts';
import { usageError } from '../../../shared/base/errors.ts';
import { namedSystem, needingOf, needingUnseen, type Target } from '../../../fleet/bundle/make/needs.ts';
import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import type { Desired } from '../../../fleet/steps/step.ts';
import type { CommandInput } from '../../command.ts';
import type { OpenHosts } from '../../run/hosts.ts';
import { hostTools } from '../../run/planning-tools.ts';
import type { Connected } from '../../run/with-hosts.ts';

type Found =
  | { readonly targets: readonly Target[] }
  /** Some hosts could not be read. */
  | { readonly unread: readonly HostOutcome[] };

/** The hosts as what a bundle is made for: as they are, or each as a fresh one of every system that is named. */
export async function targetsOf(
  context: Context,
  input: CommandInput,
  open: OpenHosts & Connected,
  desired: (host: HostSpec) => Desired,
): Promise<Found> {
  const { options } = input;
  const [named, kernels] = [options.list('for').map(namedSystem), options.list('kernel').map(kernelRelease)];
  if (named.length > 0) {
    const targets = open.hosts.flatMap((host) =>
      named.map(({ system, machine }) => {
        const images = system.names.kernels[machine];
        const needing = needingUnseen(system, machine, kernels, images);
        return { name: host.name, needing, desired: desired(host) };
      }),
    );
    return { targets };
  }
  if (kernels.length > 0)
    throw usageError({
      code: 'usage.arguments',
      what: '--kernel is for hosts that are not read',
      expected: '--for beside it',
      next: 'leave it out: the hosts say which kernels they have',
    });
  return read(context, input, open, desired);
}

async function read(
  context: Context,
  input: CommandInput,
  open: OpenHosts & Connected,
  desired: (host: HostSpec) => Desired,
): Promise<Found> {
  const found = await reachHosts(open.hosts, hostTools(context, input, open), { follow: false });
  const reached = found.filter((each) => 'facts' in each);
  await Promise.all(reached.map(({ connection }) => connection.close()));
  for (const { host } of reached) open.emit({ kind: 'host-state', host: host.name, state: 'ok' });
  const unread = found.flatMap((each) => ('facts' in each ? [] : [each]));
  if (unread.length > 0) return { unread };
  return {
    targets: reached.map(({ host, facts }) => ({
      name: host.name,
      needing: needingOf(facts),
      now: facts,
      desired: desired(host),
    })),
  };
}

function kernelRelease(text: string): string {
  if (/^\d[\w.+~-]{2,80}$/.test(text)) return text;
  throw usageError({
    code: 'usage.option',
    what: '--kernel is no release of a kernel',
    expected: 'what uname -r says on the host, e.g. 6.1.0-50-amd64',
    seen: text,
  });
}
