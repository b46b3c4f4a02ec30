import { HostPaths } from '../../shared/contract/paths.ts';
import { version as ownVersion } from '../../shared/base/version.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import {
  dockerVersion,
  type FactsWith,
  loadedDriver,
  reading,
  releaseSeen,
  toolkitVersion,
} from '../facts/unread.ts';
import { newerBranch, newerOf } from '../steps/newer.ts';
import { configDrift } from '../steps/manager/config-description.ts';
import { agentArch, configText, managerConfig } from '../steps/manager/config.ts';
import type { Desired } from '../steps/step.ts';
import type { StepName } from '../steps/change.ts';
import type { ApplyTools } from '../apply/apply-tools.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Observation } from './row.ts';
import { compareVersions, upstream } from '../packages/version.ts';
import { sha256 } from '../../shared/base/digest.ts';

/** What a host has for a key; null: nothing. */
type There = { readonly value: string | null } | { readonly unknown: string };

/** A key of the inventory that differs on a host, or that could not be compared. */
export interface KeyDrift {
  /** `driver.branch`; `*`: every key. */
  readonly key: string;
  /** Null: the inventory has no value, or the key stands for several. */
  readonly configured: string | null;
  readonly there: There;
}

/** The hosts with an equal difference. */
export interface DriftRow extends KeyDrift {
  readonly hosts: readonly string[];
}

/**
 * Returns the keys of the inventory that differ on a host. A secret is compared by its digest, and never shown. `steps`: those with
 * something to do or to refuse: a version of the distribution's own packages is accepted elsewhere. Pure.
 */
export function keyDrift(
  facts: GatheredFacts,
  desired: Desired,
  steps: ReadonlySet<StepName>,
): readonly KeyDrift[] {
  const isOpen = (step: StepName) => steps.has(step) || steps.has('facts');
  return [
    ...(isOpen('driver') ? driverDrift(facts, desired) : []),
    ...(isOpen('docker') ? versionDrift('docker', facts, desired) : []),
    ...(isOpen('toolkit') ? versionDrift('toolkit', facts, desired) : []),
    ...gpuDrift(facts, desired),
    ...managerDrift(facts, desired),
  ];
}

/**
 * Returns what `provision` would change or refuse on each host that was read, as titles, and the keys that differ. A bug is the problem
 * of its host only.
 */
export function driftOf(
  observations: readonly Observation[],
  {
    plan,
    log,
    desired,
  }: Pick<ApplyTools, 'plan' | 'log'> & { readonly desired: (host: HostSpec) => Desired },
): {
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  readonly keys: readonly DriftRow[];
  readonly problems: readonly Problem[];
} {
  const hosts = new Map<string, readonly string[]>();
  const problems: Problem[] = [];
  const keys = observations.map(({ host, facts, problem }) => {
    if (facts === undefined) return { host: host.name, drift: allUnknown(problem?.what) };
    try {
      const { stages, refusals } = plan(facts, host);
      const changes = stages.flat();
      const drift = keyDrift(
        facts,
        desired(host),
        new Set([...changes, ...refusals].map(({ step }) => step)),
      );
      hosts.set(host.name, [
        ...changes.map(({ title }) => title),
        ...refusals.map(({ what }) => `cannot: ${what}`),
      ]);
      return { host: host.name, drift };
    } catch (error) {
      const found = hostProblem(host.name, error, log);
      problems.push(found);
      return { host: host.name, drift: allUnknown(found.what) };
    }
  });
  return { hosts, keys: groupedDrift(keys), problems };
}

/** Returns what is known of a host that could not be read. */
function allUnknown(why = 'no facts'): readonly KeyDrift[] {
  return unknown('*', null, why);
}

/** Returns each difference once, with its hosts; equal keys are neighbours. Pure. */
export function groupedDrift(
  hosts: readonly { readonly host: string; readonly drift: readonly KeyDrift[] }[],
): readonly DriftRow[] {
  const all = hosts.flatMap(({ host, drift }) => drift.map((each) => ({ host, each })));
  const byKey = Map.groupBy(all, ({ each }) => each.key);
  return [...byKey.values()].flatMap((same) =>
    [...Map.groupBy(same, ({ each }) => JSON.stringify(each)).values()].flatMap((equal) =>
      equal.slice(0, 1).map(({ each }) => ({ ...each, hosts: equal.map(({ host }) => host) })),
    ),
  );
}

function differs(key: string, configured: string | null, value: string | undefined): readonly KeyDrift[] {
  return [{ key, configured, there: { value: value ?? null } }];
}

function unknown(key: string, configured: string | null, why: string): readonly KeyDrift[] {
  return [{ key, configured, there: { unknown: why } }];
}

function driverDrift(facts: GatheredFacts, { host: { driver } }: Desired): readonly KeyDrift[] {
  if (!driver.install) return [];
  const key = driver.version === undefined ? 'driver.branch' : 'driver.version';
  const seen = reading(facts, 'driver', 'gpus');
  if (seen.kind === 'unknown') return unknown(key, driver.version ?? driver.branch, seen.why);
  const loaded = loadedDriver(facts);
  const value = loaded.kind === 'value' ? loaded.value : undefined;
  const { version, branch } = newerBranch(seen.value, driver);
  const wanted = version ?? branch;
  const isThere =
    value !== undefined && (version === undefined ? value.split('.', 1)[0] === branch : value === version);
  return isThere ? [] : differs(key, wanted, value);
}

function versionDrift(
  part: 'docker' | 'toolkit',
  facts: GatheredFacts,
  { host }: Desired,
): readonly KeyDrift[] {
  const spec = host[part];
  if (spec.left === true) return [];
  const key = `${part}.version`;
  const seen = part === 'docker' ? dockerVersion(facts) : toolkitVersion(facts);
  if (seen.kind === 'unknown') return unknown(key, spec.version, seen.why);
  const { version } = newerOf(spec, seen.value);
  const isThere = seen.value !== undefined && compareVersions(upstream(seen.value), version) === 0;
  return isThere ? [] : differs(key, version, seen.value);
}

function gpuDrift(facts: GatheredFacts, { host: { gpus } }: Desired): readonly KeyDrift[] {
  if (gpus === undefined) return [];
  const seen = reading(facts, 'gpus');
  if (seen.kind === 'unknown') return unknown('gpus.count', String(gpus), seen.why);
  const there = seen.value.gpus.length;
  return there === gpus ? [] : differs('gpus.count', String(gpus), String(there));
}

function managerDrift(facts: GatheredFacts, desired: Desired): readonly KeyDrift[] {
  const seen = reading(facts, 'files', 'texts', 'manager', 'gpus');
  if (seen.kind === 'unknown') return unknown('manager', ownVersion, seen.why);
  const arch = agentArch(facts.arch);
  if (arch === undefined) return [];
  const digest = seen.value.files[HostPaths.config];
  if (digest === undefined) return differs('manager', ownVersion, undefined);
  const release = releaseSeen(facts);
  const program = release.kind === 'value' ? release.value?.version : undefined;
  const config = managerConfig(desired, arch);
  return [
    ...(program === undefined || program === ownVersion ? [] : differs('manager', ownVersion, program)),
    ...(digest === sha256(configText(config))
      ? []
      : configKeys(seen.value.texts[HostPaths.config], seen.value.gpus.length, config)),
    ...secretDrift(seen.value, desired),
  ];
}

function configKeys(
  text: string | undefined,
  gpus: number,
  config: ReturnType<typeof managerConfig>,
): readonly KeyDrift[] {
  const found = configDrift(text, config, gpus);
  return found === undefined
    ? unknown('*', null, `${HostPaths.config} is too long, or no configuration`)
    : found.flatMap(({ key, from, to }) => differs(key, to ?? null, from));
}

function secretDrift(
  { machineId, manager }: FactsWith<'manager'>,
  { credential, credentialDigest, registries, webhookDigest, host }: Desired,
): readonly KeyDrift[] {
  const compared = [
    [
      credential.kind === 'pat' ? 'token' : 'servicePrincipal.secret',
      credentialDigest,
      manager.credentialDigest,
    ],
    ['registries', registries.digest, manager.registriesDigest],
    ['webhook.url', host.webhook && webhookDigest, manager.webhookDigest],
  ] as const;
  return compared.flatMap(([key, digest, there]) => {
    if (digest === undefined || digest(machineId) === there) return [];
    return differs(key, 'set', there === undefined ? undefined : 'another one');
  });
}
