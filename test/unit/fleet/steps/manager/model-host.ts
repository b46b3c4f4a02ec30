import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { StartedWith } from '../../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { Action, Change } from '../../../../../src/fleet/steps/change.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { driven, factsOf, merge } from '../../../../support/host.ts';
import { managerStatus } from '../../../../support/manager-status.ts';

interface Process extends StartedWith {
  readonly configHash: string;
}

/** The files, systemd's state, and the values that the manager was started with. */
export interface ModelHost {
  readonly disk: Readonly<Record<string, string>>;
  readonly current: string | undefined;
  /** The unit's text in systemd's memory; undefined: it has none. */
  readonly unit: string | undefined;
  readonly enabled: boolean;
  readonly process: Process | undefined;
}

export const bareModel: ModelHost = {
  disk: {},
  current: undefined,
  unit: undefined,
  enabled: false,
  process: undefined,
};

/** A step after which a kill is possible. */
type Effect = (host: ModelHost) => ModelHost;

const put =
  (path: string, text: string): Effect =>
  (host) => ({ ...host, disk: { ...host.disk, [path]: text } });

const drop =
  (path: string): Effect =>
  (host) => ({
    ...host,
    disk: Object.fromEntries(Object.entries(host.disk).filter(([each]) => each !== path)),
  });

/** Returns all effects of a change in order, including a partial upload. */
export function effectsOf({ actions }: Change, desired: Desired): Effect[] {
  return actions.flatMap((action) => effectsOfAction(action, desired));
}

function effectsOfAction(action: Action, desired: Desired): Effect[] {
  switch (action.kind) {
    case 'upload': {
      const part = `${action.path}.${action.artifact.sha256.slice(0, 16)}.part`;
      const text = action.artifact.kind === 'text' ? action.artifact.text : '';
      return [put(part, 'half'), (host) => put(action.path, text)(drop(part)(host))];
    }
    case 'credential':
    case 'registries':
    case 'webhook': {
      const digests = {
        credential: desired.credentialDigest,
        registries: desired.registries.digest,
        webhook: desired.webhookDigest,
      };
      const text = digests[action.kind]?.('') ?? '';
      const part = `${action.path}.${sha256(text).slice(0, 16)}.part`;
      return [put(part, 'half'), (host) => put(action.path, text)(drop(part)(host))];
    }
    case 'run':
      return action.script.includes('switch_to') ? activation(action.script) : removals(action.script);
    default:
      return [];
  }
}

/** Returns the effects of the commands in the start script. */
function activation(script: string): Effect[] {
  const directory = /^switch_to (\S+)$/m.exec(script)?.[1] ?? '';
  const next = `${HostPaths.token}.next`;
  const moved: Effect = (host) => drop(next)(put(HostPaths.token, host.disk[next] ?? '')(host));
  return [
    script.includes(`mv -f ${next}`) ? moved : drop(next),
    (host) => ({ ...host, current: directory }),
    ...(script.includes('systemctl daemon-reload') ? [reload] : []),
    (host) => ({ ...host, enabled: true }),
    start,
  ];
}

function removals(script: string): Effect[] {
  const paths = /^rm -f (.+)$/m.exec(script)?.[1]?.split(' ') ?? [];
  return paths.map(drop);
}

const reload: Effect = (host) => ({ ...host, unit: host.disk[HostPaths.unit] });

/** Starts the manager. systemd reads an unknown unit from disk, and keeps the text of a known one. */
const start: Effect = (host) => {
  const unit = host.unit ?? host.disk[HostPaths.unit] ?? '';
  const config = host.disk[HostPaths.config] ?? '';
  const ca = config.includes('"ca": true') ? host.disk[HostPaths.caBundle] : undefined;
  const mark = /AZP_FLEET_UNIT=(\S+)/.exec(unit)?.[1];
  return {
    ...host,
    unit,
    process: {
      configHash: sha256(config),
      program: host.current ?? '',
      ...(mark === undefined ? {} : { unit: mark }),
      ...(ca === undefined ? {} : { ca: sha256(ca) }),
    },
  };
};

/** Returns the facts of the host. */
export function factsOfModel({ disk, current, unit, enabled, process }: ModelHost): Facts {
  const { configHash = '', ...started } = process ?? {};
  const watched = [HostPaths.config, HostPaths.caBundle, HostPaths.unit];
  const part = /\.part$/;
  return merge(factsOf({ driver: driven }), {
    files: Object.fromEntries(
      watched.flatMap((path) => (disk[path] === undefined ? [] : [[path, sha256(disk[path])]])),
    ),
    manager: {
      current,
      unitActive: process === undefined ? 'inactive' : 'active',
      unitEnabled: enabled,
      reloadNeeded: unit !== undefined && unit !== disk[HostPaths.unit],
      credentialDigest: disk[HostPaths.token],
      registriesDigest: disk[HostPaths.registries],
      webhookDigest: disk[HostPaths.webhook],
      leftovers: Object.keys(disk).filter((path) => part.test(path) || path === `${HostPaths.token}.next`),
      status:
        process === undefined ? undefined : managerStatus({ configHash, started: started as StartedWith }),
    },
  });
}
