import { problemLines } from '../../render/problem.ts';
import { sameMachines } from '../../../fleet/plan/same-machine.ts';
import type { HostChoice } from '../choices.ts';
import { tell, widthOf, type Wizard } from '../wizard-context.ts';
import type { Settled } from './check-hosts.ts';
import { isNamedByAddress, nameMistake } from './host-notation.ts';

/** One machine stays once: the other names for it are taken out, and said. Copies of one disk are told of. */
export function oneEach(wizard: Wizard, settled: readonly Settled[]): Settled[] {
  const kept: Settled[] = [];
  for (const each of settled) {
    const machine = each.report.machine;
    const same = kept.find(
      ({ report }) =>
        machine !== undefined &&
        machine.machineId !== '' &&
        report.machine?.machineId === machine.machineId &&
        report.machine.bootId === machine.bootId,
    );
    if (same === undefined) kept.push(each);
    else
      tell(
        wizard,
        `! ${each.host.name} is the same machine as ${same.host.name}: it stays once, as ${same.host.name}`,
      );
  }
  const seen = kept.flatMap(({ host, report: { machine } }) =>
    machine === undefined ? [] : [{ host, facts: machine }],
  );
  for (const [host, problem] of sameMachines(seen))
    wizard.say(...problemLines({ host, ...problem }, widthOf(wizard)));
  return kept;
}

/** A host that is only called by its address is offered the name that the machine has. */
export async function nameHosts(
  { prompts }: Wizard,
  settled: readonly Settled[],
  taken: readonly string[],
): Promise<Settled[]> {
  const names = [...taken, ...settled.map(({ host }) => host.name)];
  const named: Settled[] = [];
  for (const each of settled) {
    const { host, report } = each;
    const { hostname } = report;
    if (hostname === undefined || !isNamedByAddress(host)) {
      named.push(each);
      continue;
    }
    const others = names.filter((name) => name !== host.name);
    const check = (text: string): string | undefined =>
      others.some((name) => name.toLowerCase() === text.toLowerCase()) ? 'Taken' : nameMistake(text);
    const name = await prompts.text(
      `hosts.${host.name}.name`,
      `${host.address ?? host.name} calls itself ${hostname}. Its name here:`,
      { default: check(hostname) === undefined ? hostname : host.name, check },
    );
    names[names.indexOf(host.name)] = name;
    named.push({ ...each, host: renamed(host, name) });
  }
  return named;
}

function renamed(host: HostChoice, name: string): HostChoice {
  const { name: before, address = before, ...rest } = host;
  return { ...rest, name, ...(address === name ? {} : { address }) };
}
