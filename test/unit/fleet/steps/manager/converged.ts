import { defined } from '../../../../../src/shared/base/objects.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { ManagerStatus } from '../../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { contextDigest } from '../../../../../src/fleet/steps/image.ts';
import type { Artifact } from '../../../../../src/fleet/steps/change.ts';
import { buildsImage, configText, managerConfig } from '../../../../../src/fleet/steps/manager/config.ts';
import { managerVersion } from '../../../../../src/fleet/steps/manager/version.ts';
import { managerUnitFor } from '../../../../../src/fleet/steps/manager/files.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../../support/host.ts';
import { managerStatus } from '../../../../support/manager-status.ts';

export const text = (content: string): Artifact => ({ kind: 'text', text: content, sha256: sha256(content) });
const unit =
  '[Service]\nExecStart=/opt/azp-fleet/current/node\nLoadCredential=token:/etc/azp-fleet/token\nRestart=always\n';
const vision = {
  name: 'vision',
  files: 3,
  artifact: { kind: 'file', file: '/cache/v.tar', sha256: 'f'.repeat(64), size: 4096, gunzip: false },
} as const;
export const artifacts = (manager = 'bundle') => ({
  runtime: (arch: string) => (arch === 'ppc64le' ? undefined : text(`node for ${arch}`)),
  manager: text(manager),
  context: [{ path: 'Dockerfile', artifact: text('FROM base') }],
  folders: new Map([['/lab/vision', vision]]),
  unit,
  nodeVersion: '24.21.0',
});
export const defaults = desiredOf(
  {},
  { artifacts: artifacts(), credentialDigest: (machineId) => sha256(`${machineId}:pat`) },
);

const configOf = (desired: Desired, { arch }: Facts): string =>
  configText(managerConfig(desired, arch === 'aarch64' ? 'arm64' : 'x64'));

const programOf = (desired: Desired, { arch }: Facts): string =>
  managerVersion(desired, desired.artifacts.runtime(arch, false) ?? text('')).directory;

export function status(
  desired: Desired,
  image: ManagerStatus['image']['state'] = 'ready',
  base: Facts = factsOf(),
): ManagerStatus {
  return managerStatus({
    configHash: sha256(configOf(desired, base)),
    started: {
      program: programOf(desired, base),
      unit: managerUnitFor(desired.artifacts.unit, base.systemd).mark,
      ...defined({ ca: desired.proxy.caPem && sha256(desired.proxy.caPem) }),
    },
    image: { state: image },
  });
}

/** The facts of a host whose manager is up to date. */
export function converged(desired: Desired = defaults, base: Facts = factsOf({ driver: driven })): Facts {
  const { caPem } = desired.proxy;
  return merge(base, {
    files: {
      ...base.files,
      [HostPaths.config]: sha256(configOf(desired, base)),
      [HostPaths.unit]: sha256(managerUnitFor(desired.artifacts.unit, base.systemd).text),
      ...(caPem === undefined ? {} : { [HostPaths.caBundle]: sha256(caPem) }),
    },
    manager: {
      current: programOf(desired, base),
      context: buildsImage(desired) ? contextDigest(desired.artifacts.context) : undefined,
      unitActive: 'active',
      unitEnabled: true,
      reloadNeeded: false,
      leftovers: [],
      credentialDigest: desired.credentialDigest?.(base.machineId),
      registriesDigest: desired.registries.digest?.(base.machineId),
      webhookDigest: desired.webhookDigest?.(base.machineId),
      status: status(desired, 'ready', base),
    },
  });
}
