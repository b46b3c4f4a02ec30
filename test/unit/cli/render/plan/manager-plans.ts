import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { SlotSpec } from '../../../../../src/shared/contract/slots.ts';
import type { ManagerStatus } from '../../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { HostPlan } from '../../../../../src/fleet/plan/fleet-plan.ts';
import { planHost } from '../../../../../src/fleet/plan/plan.ts';
import { planText } from '../../../../../src/cli/render/plan.ts';
import { configText, managerConfig } from '../../../../../src/fleet/steps/manager/config.ts';
import { managerStep } from '../../../../../src/fleet/steps/manager/step.ts';
import type { Desired, Step } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../../support/host.ts';
import { artifacts, converged } from '../../../fleet/steps/manager/converged.ts';

type HostOverrides = Parameters<typeof desiredOf>[0];

export const desiredWith = (host: HostOverrides = {}, rest: Partial<Desired> = {}): Desired =>
  desiredOf(host, { artifacts: artifacts(), ...rest });

export const count = (agents: number): HostOverrides => ({ agents: { kind: 'count', count: agents } });
export const slot = (name: string, parts: Partial<SlotSpec> = {}): SlotSpec => ({
  name,
  gpus: [0],
  share: false,
  limits: {},
  capabilities: ['compute', 'utility'],
  mode: 'container',
  ...parts,
});
export const slots = (...all: SlotSpec[]): HostOverrides => ({ agents: { kind: 'slots', slots: all } });

/** Returns facts of a host with four GPUs whose manager runs with this desired state. */
export function runningWith(then: Desired, gpus = 4, parts: Partial<ManagerStatus> = {}): Facts {
  const card = (slot: number) => ({ address: `0000:8${slot}:00.0`, deviceId: '2335', boundTo: 'nvidia' });
  // Libraries for agents in host mode, which a plan would otherwise install.
  const packages = { libicu72: '72.1', libssl3: '3.0.17', 'libgssapi-krb5-2': '1.20.1', zlib1g: '1.2.13' };
  const base = factsOf({
    driver: driven,
    packages,
    gpus: Array.from({ length: gpus }, (_, slot) => card(slot)),
  });
  const text = configText(managerConfig(then, 'x64'));
  const facts = converged(then, base);
  const { status } = facts.manager;
  return merge(facts, {
    texts: { [HostPaths.config]: text },
    files: { [HostPaths.config]: sha256(text) },
    manager: {
      status: status && { ...status, ...parts },
      release: status && { version: parts.version ?? status.version, protocol: 2 },
    },
  });
}

/** Returns the plan of one host as shown on a terminal of 80 columns. */
export function planOn80(facts: Facts, desired: Desired, step: Step = managerStep, diff = false): string {
  return textOn80([planHost(facts, desired, { steps: [step], disturbOthers: false })], diff);
}

export function textOn80(hosts: readonly HostPlan[], diff = false): string {
  const empty = { version: '0.2.0', at: '', inventory: '', inventoryDigest: '', fleet: [] };
  return planText({ schema: 1, ...empty, hosts }, { scripts: false, diff, color: false, width: 80 });
}

/** Returns the text of a plan that changes only the manager's configuration, with these lines. */
export function configured(lines: string): string {
  return `h200-1: 2 changes
  ~ manager  write the manager's configuration
             differs from the inventory
${lines}
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 2 on 1 host.
`;
}
