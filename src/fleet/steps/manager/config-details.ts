import { configDefaults, type ManagerConfig } from '../../../shared/contract/config.ts';
import { readConfig, type StoredConfig } from '../../../shared/contract/read-config.ts';
import type { Detail } from '../change.ts';
import { bounded, itemDetail, type Item } from '../told/items.ts';
import { agentDetails, agentsNow, agentsOf, gpuDetails } from './agents-follow.ts';
import { keyWords } from './key-words.ts';
import type { Around } from './slot-words.ts';
import { knowsNoShares, shareDetails, type SharedHost } from './shares-follow.ts';
import { slotDetails } from './slots-follow.ts';

const strangeWords = 'not known to this release';

/** What is known of a host's manager.json. */
export interface OnHost extends SharedHost {
  /** sha256; undefined: there is none. */
  readonly digest: string | undefined;
  /** Undefined: there is none, or it is too long or no text. */
  readonly text: string | undefined;
}

export interface Telling {
  readonly details: readonly Detail[];
  /** What of it cannot be told, as the end of a sentence. */
  readonly remark?: string;
}

/** What another configuration means: key by key, then which agents come and go, and what becomes of the slots. Pure. */
export function configDetails(seen: OnHost, wanted: ManagerConfig): Telling {
  if (seen.digest === undefined) return { details: bounded(newConfig(wanted, seen)) };
  const stored = seen.text === undefined ? undefined : readConfig(seen.text);
  if (stored === undefined)
    return {
      details: bounded(
        seen.status === undefined ? [] : agentDetails(agentsNow(seen.status), agentsOf(wanted, seen.gpus)),
      ),
      remark:
        seen.text === undefined
          ? 'what it says now is too long to be compared'
          : 'what it says now is no configuration',
    };
  return { details: bounded(changedConfig(stored, wanted, seen)) };
}

/** Only what is not as an inventory that does not say it, and the agents. */
function newConfig(wanted: ManagerConfig, seen: OnHost): readonly Detail[] {
  const { gpus } = seen;
  const { fence: _, idle: __, ...said } = wanted;
  const plain: ManagerConfig = {
    ...said,
    agents: wanted.agents.kind === 'slots' ? { kind: 'slots', slots: [] } : wanted.agents,
    limits: {},
    datasets: [],
    jobs: { sudo: false, docker: false },
    registration: 'rest',
    capabilities: {},
  };
  const items = itemsOf({ before: plain, after: wanted, gpus });
  const news = items.map((each) => itemDetail({ ...each, from: undefined }));
  return [...news, ...shareDetails('new', wanted, seen), ...agentDetails([], agentsOf(wanted, gpus))];
}

function changedConfig(stored: StoredConfig, wanted: ManagerConfig, seen: OnHost): readonly Detail[] {
  const { config: before, unknown } = stored;
  const items = itemsOf({ before, after: wanted, gpus: seen.gpus }, unknown);
  const strange = unknown
    .filter((key) => !Object.hasOwn(keyWords, key))
    .map((key) => ({ key, from: strangeWords }));
  const details = [...[...items, ...strange].map(itemDetail), ...followsFrom(stored, wanted, seen)];
  return details.length > 0 ? details : [{ marker: 'change', text: 'the same in another order or spacing' }];
}

function followsFrom(
  { config, unknown }: StoredConfig,
  wanted: ManagerConfig,
  seen: OnHost,
): readonly Detail[] {
  const { gpus, status } = seen;
  const { host, organization, pool } = config;
  const understood = !unknown.some((key) => Object.hasOwn(keyWords, key));
  if (!understood || host === undefined || organization === undefined || pool === undefined)
    return status === undefined ? [] : agentDetails(agentsNow(status), agentsOf(wanted, gpus));
  const { credential, image } = wanted;
  const before = { credential, image, ...configDefaults, ...config, host, organization, pool };
  const moved = organization === wanted.organization ? agentsOf(before, gpus) : [];
  return [
    ...gpuDetails(before, wanted, gpus),
    ...shareDetails(before, wanted, seen),
    ...agentDetails(moved, agentsOf(wanted, gpus)),
    ...slotDetails(before, wanted, seen),
  ];
}

/** A manager that gave out no shares gives way to one that does, with the configuration that there is. Pure. */
export function sharesComing(wanted: ManagerConfig, seen: SharedHost): readonly Detail[] {
  if (!knowsNoShares(seen.status)) return [];
  return [...shareDetails(wanted, wanted, seen), ...slotDetails(wanted, wanted, seen)];
}

/** Key by key. What stands under a key of ours and means nothing to this release becomes what is wanted. */
function itemsOf(around: Around, unknown: readonly string[] = []): readonly Item[] {
  return (Object.keys(keyWords) as readonly (keyof ManagerConfig)[]).flatMap((key) => {
    const items = itemsOfKey(key, around);
    return unknown.includes(key)
      ? items.map((each) => ({ ...each, from: each.from ?? strangeWords }))
      : items;
  });
}

function itemsOfKey(key: keyof ManagerConfig, around: Around): readonly Item[] {
  // Both values are of the key: the table's type says so, and cannot be followed through a variable.
  const words = keyWords[key] as (from: unknown, to: unknown, around: Around) => readonly Item[];
  return words(around.before[key], around.after[key], around);
}
