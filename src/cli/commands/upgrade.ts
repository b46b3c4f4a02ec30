import { reachHosts } from '../../fleet/apply/survey.ts';
import type { Desired } from '../../fleet/steps/step.ts';
import { agentArch } from '../../fleet/steps/manager/config.ts';
import { offersQuestion, packageOffers } from '../../fleet/upgrade/offered.ts';
import { defaultOf, type Offers, type PartName, partNames, partRows } from '../../fleet/upgrade/parts.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type FleetError, type Problem, usageError } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { version as ownVersion } from '../../shared/base/version.ts';
import type { AgentArch } from '../../shared/contract/agent-release.ts';
import { type CommandInput, upgradeParts } from '../command.ts';
import { painter } from '../render/color.ts';
import { type HostParts, partsText } from '../render/upgrade.ts';
import { problemsAmong, type Result } from '../result.ts';
import { type OpenFleet, openFleet, withFleet } from '../run/fleet.ts';
import type { Connected } from '../run/hosts.ts';
import { openPlanning } from '../run/planning.ts';
import { upgradeHosts } from '../run/upgrade.ts';

/** Shows what is installed, configured, offered and supported; with `--to`, upgrades. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { word, parts, patterns } = readArguments(input.positionals);
  const at = { ...input, positionals: patterns };
  const to = input.options.string('to');
  if (to === undefined)
    return withFleet(context, at, (open) => showParts(context, at, open, parts), openFleet);
  return upgradeHosts(context, at, { word, to, versions: versionsOf(word, parts, to) });
}

interface Arguments {
  readonly word: (typeof upgradeParts)[number];
  readonly parts: readonly PartName[];
  readonly patterns: readonly string[];
}

/** The first word is a part, or else the first host. */
export function readArguments(positionals: readonly string[]): Arguments {
  const [first, ...rest] = positionals;
  const word = upgradeParts.find((part) => part === first);
  if (word === undefined) return { word: 'all', parts: partNames, patterns: positionals };
  return { word, parts: partNames.filter((part) => word === 'all' || word === part), patterns: rest };
}

const forms: Readonly<Record<Exclude<PartName, 'manager'>, readonly [RegExp, string]>> = {
  driver: [/^\d{3,4}(\.\d+){0,2}$/, 'a branch or a version, e.g. 580 or 580.95.05'],
  docker: [/^\d+\.\d+\.\d+$/, 'a version, e.g. 29.7.2'],
  toolkit: [/^\d+\.\d+\.\d+$/, 'a version, e.g. 1.20.0'],
  agent: [/^\d+\.\d+\.\d+$/, 'a version, e.g. 5.279.0'],
};

/** Returns the version of each part. Throws where the parts cannot have what is typed with `--to`. */
export function versionsOf(
  word: Arguments['word'],
  parts: readonly PartName[],
  to: string,
): ReadonlyMap<PartName, string> {
  if (to === 'default') return new Map(parts.map((part) => [part, defaultOf(part)]));
  const [part = 'manager'] = parts;
  if (word === 'all')
    throw wrong(
      'all parts have no common version',
      'default, or one part',
      to,
      'name a part: azp-fleet upgrade PART HOST… --to VERSION',
    );
  if (part === 'manager') {
    if (to === ownVersion) return new Map([[part, to]]);
    throw wrong(
      'the manager has the version of this program',
      ownVersion,
      to,
      `install azp-fleet ${to} on this machine, then run its upgrade`,
    );
  }
  const [form, expected] = forms[part];
  if (form.test(to)) return new Map([[part, to]]);
  throw wrong(
    `--to is no version of ${part}`,
    expected,
    to,
    `see what is offered: azp-fleet upgrade ${part}`,
  );
}

function wrong(what: string, expected: string, seen: string, next: string): FleetError {
  return usageError({ code: 'usage.upgrade', what, expected, seen, next });
}

async function showParts(
  context: Context,
  input: CommandInput,
  open: OpenFleet & Connected,
  parts: readonly PartName[],
): Promise<Result> {
  const { tools, desired } = await openPlanning(context, input, open);
  const question: (typeof tools)['question'] = (facts, host, known) =>
    Object.keys(known).length > 0 ? undefined : offersQuestion(facts, desired(host), parts);
  const found = await reachHosts(open.hosts, { ...tools, question }, { follow: false });
  const agents = new NewestAgents(open.agentReleases);
  const now = context.clock.wall();
  const rows: HostParts[] = [];
  const problems: Problem[] = problemsAmong(found.flatMap((each) => ('facts' in each ? [] : [each]))).slice();
  for (const each of found) {
    if (!('facts' in each)) continue;
    const { host, facts, answers = {} } = each;
    try {
      const agent = parts.includes('agent') ? await agents.for(facts.arch, desired(host)) : undefined;
      const offered: Offers = {
        ...packageOffers(facts, desired(host), parts, answers),
        ...(agent === undefined ? {} : { agent }),
        manager: { kind: 'value', value: [ownVersion] },
      };
      rows.push({ host: host.name, parts: partRows(parts, host, { facts, offered, now }) });
    } catch (error) {
      problems.push(hostProblem(host.name, error, context.log));
    }
  }
  await open.quiet();
  const { stdout, env } = context;
  return {
    exitCode: problems.length > 0 ? ExitCode.hostFailed : ExitCode.ok,
    json: { parts: rows, edits: null, plan: null, hosts: [] },
    problems,
    text: () =>
      rows.length === 0 ? '' : partsText(rows, { width: stdout.columns ?? 120, paint: painter(stdout, env) }),
  };
}

/** The newest agents, asked for once for each architecture. */
class NewestAgents {
  readonly #releases: OpenFleet['agentReleases'];
  readonly #known = new Map<AgentArch, Promise<Answered<string>>>();

  constructor(releases: OpenFleet['agentReleases']) {
    this.#releases = releases;
  }

  async for(machine: string, { included }: Desired): Promise<Answered<readonly string[]>> {
    if (included !== undefined) return { kind: 'value', value: agentsOf(included.images(machine)) };
    const arch = agentArch(machine);
    if (arch === undefined) return { kind: 'unknown', why: `no agent exists for ${machine}` };
    const asked = this.#known.get(arch) ?? this.#releases.newest(arch);
    this.#known.set(arch, asked);
    const newest = await asked;
    return newest.kind === 'value' ? { kind: 'value', value: [newest.value] } : newest;
  }
}

/** Returns the agents in a bundle's images, the newest first. */
function agentsOf(references: readonly string[]): readonly string[] {
  const versions = references.flatMap((each) => /\/agent:(\d+\.\d+\.\d+)-/.exec(each)?.[1] ?? []);
  return [...new Set(versions)].toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }));
}
