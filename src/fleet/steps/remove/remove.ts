import type { HostRoot } from '../../../shared/base/host-root.ts';
import { valueOf } from '../../../shared/base/reading.ts';
import { HostPaths, managerUnit } from '../../../shared/contract/paths.ts';
import { poolsInUse } from '../../../shared/contract/status.ts';
import type { Facts, GatheredFacts } from '../../facts/facts.ts';
import { asIfAbsent, statusOf, unreadObstacle, unreadOf } from '../../facts/unread.ts';
import { auditFile } from '../../audit/host-script.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import { recordFile, type PartName } from '../../packages/package-record.ts';
import { platformOf, unsupported } from '../../packages/distribution.ts';
import { type Change, change, type Refusal, refusal, runChange } from '../change.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { configFolder } from '../docker/scripts.ts';
import { describeDaemonJson } from '../description.ts';
import { knownPools } from '../pool-names.ts';
import { cdiFolder, cdiUndoScript } from '../toolkit/cdi.ts';
import { restoreScript, withoutOurSettings } from './daemon-json.ts';
import { containersScript, filesScript, ownFolders, stopScript, traceScript } from './scripts.ts';
import { recordThen, type RecordThen } from './ownership.ts';
import { isOurRunfile, packages } from './host-stack.ts';

export interface RemovalRequest {
  readonly host: HostSpec;
  /** Owner id of the host's agents; undefined: it never had any. */
  readonly owner: string | undefined;
  /** True if agents that cannot be removed from Azure DevOps stay there. */
  readonly force?: boolean;
  /** Parts to remove in addition. */
  readonly parts: ReadonlySet<PartName>;
  readonly root: HostRoot;
}

/**
 * Returns the changes that remove everything of azp-fleet from a host, in order: agents first, the records of this removal last.
 * Nothing where nothing is left; a refusal where it is unknown what is left. Pure.
 */
export function removalOf(gathered: GatheredFacts, request: RemovalRequest): readonly (Change | Refusal)[] {
  const unread = unreadOf(gathered, 'ours', 'manager', ...(request.parts.size === 0 ? [] : stackFacts));
  if (unread.length > 0) {
    const { what, next } = unreadObstacle(unread);
    return [refusal('facts', `it is unknown what is to be removed: ${what}`, next)];
  }
  const facts = asIfAbsent(gathered);
  const found = [...agents(facts, request), ...stack(facts, request), ...own(facts)];
  const record = recordThen(facts, platformOf(facts), request.parts);
  const runfile = isOurRunfile(facts) && !request.parts.has('driver');
  return found.length === 0 && !record.differs ? [] : [...found, last(record, runfile)];
}

/** What decides about the parts that are removed in addition. */
const stackFacts = ['packages', 'driver', 'docker', 'toolkit'] as const;

/** Returns whether azp-fleet's manager, or what it left, is on the host. */
export function hasManager({ ours, files, manager }: Facts): boolean {
  return (
    ours.folders.length > 0 ||
    ours.users.length > 0 ||
    files[HostPaths.unit] !== undefined ||
    manager.current !== undefined
  );
}

function* agents(facts: Facts, { host, owner, force }: RemovalRequest): Generator<Change> {
  if (!hasManager(facts)) return;
  yield runChange(
    'manager',
    'stop',
    {
      title: 'stop the manager and remove its unit',
      why: facts.manager.unitActive === 'active' ? 'running' : 'installed',
      // A reload of systemd may remove GPUs from other containers.
      disturbs: reloadDisturbs(facts) === 'containers' ? 'containers' : 'agents',
      marker: 'remove',
      details: [{ marker: 'remove', text: managerUnit }],
    },
    { script: stopScript, timeoutS: 600, writes: [HostPaths.unit] },
  );
  if (owner !== undefined) {
    const pools = poolsNow(facts, host);
    yield change(
      'pool',
      'deregister',
      {
        title: `remove its agents from Azure DevOps, pool ${pools.join(', ')}`,
        why:
          force === true
            ? 'these agents no longer run; those with a job that the server still counts stay, and so does the pool'
            : 'these agents no longer run; the pool itself stays',
        disturbs: 'nothing',
        marker: 'remove',
      },
      [{ kind: 'deregister', owner, pools }],
    );
  }
  yield runChange(
    'image',
    'containers',
    {
      title: "remove the agents' containers, image, network and isolation rules",
      why: "they carry azp-fleet's labels and names; images that others built on it stay",
      disturbs: 'nothing',
      marker: 'remove',
    },
    { script: containersScript, timeoutS: 900 },
  );
}

/** Returns the host's pools by the inventory, with patterns filled in, and by the manager's status. */
export function poolsNow(facts: GatheredFacts, host: HostSpec): readonly string[] {
  const status = valueOf(statusOf(facts));
  return [...new Set([...knownPools(host, facts), ...(status === undefined ? [] : poolsInUse(status))])];
}

function* stack(facts: Facts, { parts, root }: RemovalRequest): Generator<Change | Refusal> {
  const platform = platformOf(facts);
  if (platform === undefined) {
    const { what, next } = unsupported(facts);
    for (const part of parts) yield refusal(part, what, next);
    return;
  }
  yield* configuration(facts, parts);
  yield* packages(facts, platform, parts, root);
  yield* specifications(facts, parts);
  const { trust } = platform.packages;
  if (facts.files[trust.file] === undefined) return;
  yield runChange(
    'driver',
    'site-ca',
    {
      title: "no longer trust the site's certificate authority",
      why: 'it was added for the agents and the package repositories',
      disturbs: 'nothing',
      marker: 'remove',
      details: [{ marker: 'remove', text: trust.file }],
    },
    { script: trust.withdraw, timeoutS: 300, writes: platform.packages.folders },
  );
}

/** Restores daemon.json; a toolkit that stays keeps its settings. */
function* configuration(facts: Facts, parts: ReadonlySet<PartName>): Generator<Change> {
  const current = facts.docker.daemonJson;
  const gpus = facts.toolkit.version === undefined || parts.has('toolkit');
  const then = withoutOurSettings({ current, before: facts.ours.daemonJsonBefore }, gpus);
  if (current === undefined || then === undefined) return;
  yield runChange(
    'docker',
    'restore',
    {
      title:
        then.text === undefined
          ? 'remove daemon.json, which did not exist before'
          : "restore daemon.json without azp-fleet's settings",
      why: gpus
        ? "azp-fleet's settings are removed"
        : "azp-fleet's settings are removed, except those of the toolkit, which stays",
      disturbs: 'nothing',
      ...describeDaemonJson(current, then.text ?? '{}'),
      marker: then.text === undefined ? 'remove' : 'change',
    },
    {
      script: restoreScript({ from: current, to: then.text, keeps: !gpus }),
      timeoutS: 120,
      writes: [configFolder],
    },
  );
}

/** Removes azp-fleet's CDI specification; a toolkit that stays keeps it. */
function* specifications({ ours: { cdi }, toolkit }: Facts, parts: ReadonlySet<PartName>): Generator<Change> {
  if (toolkit.version !== undefined && !parts.has('toolkit')) return;
  if (cdi.made.length + cdi.aside.length === 0) return;
  yield runChange(
    'toolkit',
    'cdi-undo',
    {
      title: "remove azp-fleet's CDI specification",
      why: 'its toolkit is removed; specifications that were set aside are restored',
      disturbs: 'nothing',
      marker: 'remove',
      details: [
        ...cdi.made.map((text) => ({ marker: 'remove' as const, text })),
        ...cdi.aside.map((text) => ({ marker: 'add' as const, text })),
      ],
    },
    { script: cdiUndoScript(cdi), timeoutS: 60, writes: [cdiFolder] },
  );
}

function* own(facts: Facts): Generator<Change> {
  if (!hasManager(facts)) return;
  const { users } = facts.ours;
  const gone = [...ownFolders, HostPaths.state];
  yield runChange(
    'manager',
    'files',
    {
      title: 'delete program, configuration, credentials, state and run records',
      why: 'no longer used',
      disturbs: 'nothing',
      marker: 'remove',
      details: [
        ...[...gone, ...users.map((user) => `user ${user}`)].map((text) => ({
          marker: 'remove' as const,
          text,
        })),
        { marker: 'remove', text: auditFile, effect: 'its lines stay in the system log (azp-fleet-audit)' },
      ],
    },
    { script: filesScript(users), timeoutS: 1800, writes: gone },
  );
}

function last({ lines }: RecordThen, runfile: boolean): Change {
  const staying = [
    ...(lines.length === 0
      ? []
      : [{ text: recordFile, effect: 'records which of the remaining packages azp-fleet installed' }]),
    ...(runfile
      ? [
          {
            text: HostPaths.runfile,
            effect: 'records that azp-fleet installed the driver of the .run file',
          },
        ]
      : []),
  ];
  return runChange(
    'manager',
    'trace',
    {
      title: "delete azp-fleet's notes on the host",
      why: 'left by earlier runs',
      disturbs: 'nothing',
      marker: 'remove',
      details: staying.map(({ text, effect }) => ({ marker: 'change', text: `stays: ${text}`, effect })),
    },
    {
      script: traceScript(lines, runfile),
      timeoutS: 60,
      durable: false,
      writes: [HostPaths.state, HostPaths.run],
    },
  );
}
