import { rmSync } from 'node:fs';

import { applyHosts } from '../../fleet/apply/apply.ts';
import { finishHost } from '../../fleet/apply/apply-host.ts';
import type { ApplyTools } from '../../fleet/apply/apply-tools.ts';
import type { HostOutcome } from '../../fleet/apply/outcome.ts';
import { distinct, findTokenGaps } from '../../fleet/apply/pools.ts';
import { surveyHosts, type HostsSurvey, type Reached } from '../../fleet/apply/survey.ts';
import type { InWaves } from '../../fleet/apply/waves.ts';
import { UnreadFact, withoutUnread } from '../../fleet/facts/unread.ts';
import { credentialSource, describeSource } from '../../fleet/inventory/secret.ts';
import { salted } from '../../fleet/plan/desired.ts';
import { incompletePlan, isEmpty, planOf } from '../../fleet/plan/plan.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import { rotationOf } from '../../fleet/steps/manager/token.ts';
import { organizationUrl } from '../../shared/azure/url.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import type { CommandInput } from '../command.ts';
import { declined, type Result } from '../result.ts';
import { finishing, rotationText, type RotationEnd } from '../render/rotation.ts';
import { changeHosts } from '../run/change-hosts.ts';
import { openFleet, type OpenFleet } from '../run/fleet.ts';
import { connected, overSsh, type Connected, type Wiring } from '../run/hosts.ts';
import { hostTools } from '../run/planning.ts';
import { mint, type Minted } from '../token/mint.ts';
import { keptTokens } from '../token/token-file.ts';

/** Replaced by tests. */
interface RotateParts extends Partial<Pick<ApplyTools, 'gather' | 'sleep'>> {
  readonly wiring?: Wiring<Transport>;
  /** The address of an organization's personal access tokens. */
  readonly tokensUrl?: (organization: string) => string;
}

/** Replaces the token of hosts: of one first, then of all others. Restarts nothing. */
export async function runRotate(
  context: Context,
  input: CommandInput,
  { wiring = overSsh, tokensUrl, ...replaced }: RotateParts = {},
): Promise<Result> {
  const isMinting = input.options.flag('mint');
  if (!isMinting && input.options.string('validFor') !== undefined)
    throw usageError({
      code: 'usage.option',
      what: '--valid-for was given without --mint',
      next: 'add --mint, or set the end of the token where it is created',
    });
  const minted = isMinting ? await mint(context, input, tokensUrl) : undefined;
  if (isMinting && minted === undefined) return declined;
  const opened = minted?.open ?? (await openFleet(context, input));
  if (opened.fleet.identity !== undefined)
    throw usageError({
      code: 'inventory.identity',
      what: 'the hosts store no token: their managers log in by themselves',
      next: 'replace the credential of this machine where the inventory takes it from',
    });
  return connected(context, input, opened, wiring, (open) => rotate(context, input, open, minted, replaced));
}

async function rotate(
  context: Context,
  input: CommandInput,
  open: OpenFleet & Connected,
  minted: Minted | undefined,
  replaced: Omit<RotateParts, 'wiring' | 'tokensUrl'>,
): Promise<Result> {
  const digest = salted(open.credential);
  const plan: ApplyTools['plan'] = (facts, { name }) => {
    try {
      return planOf(facts, name, rotationOf(withoutUnread(facts), name, digest), false);
    } catch (error) {
      if (!(error instanceof UnreadFact)) throw error;
      return incompletePlan(facts, name, [], new Set(error.facts));
    }
  };
  const tools: ApplyTools = {
    ...hostTools(context, input, open, 'token rotate'),
    plan,
    credential: open.credential,
    ...replaced,
  };
  let outcomes: readonly HostOutcome[] | undefined;
  const result = await changeHosts(context, input, open, {
    question: (where) => `Replace the token on ${where}?`,
    unasked: 'review the plan with --dry-run, then run again with --yes',
    survey: () =>
      surveyHosts(open.hosts, tools, { follow: !input.options.flag('dryRun') }, (reached) =>
        minted?.isPlanned === true ? Promise.resolve() : checkRights(open, reached),
      ),
    waves: () => undefined,
    apply: async (found) => {
      outcomes = await applyHosts(found, canaryFirst(found), tools, (host) =>
        finishHost(host, tools, { exactFacts: false }),
      );
      return outcomes;
    },
  });
  return outcomes === undefined ? result : withEnd(result, rotationEnd(open, outcomes, minted), context);
}

/** Throws if agents could not be registered with the token in the pools of these hosts: then no host gets it. */
async function checkRights({ azure, permissions }: OpenFleet, reached: readonly Reached[]): Promise<void> {
  if (reached.length === 0) return;
  const [first, ...more] = distinct(await findTokenGaps(azure, permissions, reached));
  if (first === undefined) return;
  const others = more.map(({ what }) => what).join('\n');
  throw new FleetError({ ...first, ...(others === '' ? {} : { seen: others }) });
}

/**
 * Returns the order: one host, then all others at the same time. Where a host uses the token already, it has been tried. No pool
 * loses a host, so that no limit of a pool counts. Pure.
 */
export function canaryFirst({ hosts }: Pick<HostsSurvey, 'hosts'>): InWaves {
  const isTried = hosts.some(({ plan }) => isEmpty(plan));
  const changed = hosts.filter(({ plan }) => plan.stages.length > 0 && plan.refusals.length === 0);
  const pending = changed.map(({ host }) => ({ host: host.name, kind: 'token', builds: false }));
  return {
    fleet: {
      pools: new Map(),
      pending: isTried ? [] : pending,
      down: new Set(),
      recovering: new Set(),
      unproven: [],
      barred: [],
    },
    limits: { maxUnavailable: { kind: 'percent', percent: 100 }, maxFailures: { kind: 'count', count: 0 } },
  };
}

/** Returns which hosts use the token, and what to revoke. Where every host uses it, kept copies of earlier tokens are removed. */
function rotationEnd(
  { fleet, hosts }: OpenFleet,
  outcomes: readonly HostOutcome[],
  minted: Minted | undefined,
): RotationEnd {
  const { credential, organization } = fleet;
  const done = outcomes.filter(({ state }) => state === 'ok' || state === 'changed');
  const proven = new Set(done.map(({ host }) => host));
  const asked = new Set(hosts.map(({ name }) => name));
  const missing = fleet.hosts.map(({ name }) => name).filter((name) => !proven.has(name));
  const source = credentialSource(fleet);
  const kept = 'file' in source ? keptTokens(source.file).map(({ file }) => file) : [];
  if (missing.length === 0) for (const file of kept) rmSync(file, { force: true });
  return {
    kind: credential.kind === 'pat' ? 'pat' : (credential.proof ?? credential.kind),
    source: describeSource(source),
    page:
      credential.kind === 'pat'
        ? `${organizationUrl(organization)}/_usersSettings/tokens`
        : `https://portal.azure.com/#view/Microsoft_AAD_RegisteredApps/ApplicationMenuBlade/~/Credentials/appId/${credential.clientId}`,
    replaced: done.filter(({ state }) => state === 'changed').length,
    proven: proven.size,
    left: missing.filter((name) => asked.has(name)),
    outside: missing.filter((name) => !asked.has(name)),
    minted: minted?.minted ?? null,
    earlier: minted?.earlier ?? null,
    kept,
  };
}

function withEnd(result: Result, end: RotationEnd, { stdout }: Context): Result {
  const { text } = result;
  const width = stdout.columns ?? Number.POSITIVE_INFINITY;
  return {
    ...result,
    json: { ...result.json, token: { ...end, finish: finishing(end) ?? null } },
    text: () => {
      const outcomes = text?.() ?? '';
      return [...(typeof outcomes === 'string' ? [outcomes] : outcomes), rotationText(end, width)];
    },
  };
}
