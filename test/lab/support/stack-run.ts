import type { Facts } from '../../../src/fleet/facts/facts.ts';
import { gatherFacts } from '../../../src/fleet/facts/gather.ts';
import { withoutUnread } from '../../../src/fleet/facts/unread.ts';
import type { HostSpec } from '../../../src/fleet/inventory/fleet.ts';
import type { HostPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import { planHost, questionFor } from '../../../src/fleet/plan/plan.ts';
import type { Session } from '../../../src/fleet/ssh/transport.ts';
import type { Change } from '../../../src/fleet/steps/change.ts';
import { dockerStep } from '../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import type { Desired, Step } from '../../../src/fleet/steps/step.ts';
import { toolkitStep } from '../../../src/fleet/steps/toolkit/step.ts';
import { desiredOf } from '../../support/host.ts';
import { sshSpec, testTransport } from '../../support/transport.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { toolkitVersion } from '../../../practice/lab/nvidia-packages.ts';
import { mirror } from '../../../practice/lab/paths.ts';
import { dockerVersions } from '../../../practice/lab/repositories.ts';

/** The desired state of one host, with the versions in the lab's repositories. */
export function desiredStack(host: LabHost, driver: Partial<HostSpec['driver']> = {}): Desired {
  return desiredOf(
    {
      name: host.name,
      driver,
      docker: { version: dockerVersions()[host.release] },
      toolkit: { version: toolkitVersion },
    },
    {
      mirrors: { nvidiaDriver: `${mirror}/nvidia`, docker: `${mirror}/docker`, toolkit: `${mirror}/toolkit` },
    },
  );
}

/** Driver, Docker and toolkit on machines of a lab, over SSH, without a manager and its agents: minutes less. */
export class StackRun {
  readonly #lab: Lab;
  readonly #steps: readonly Step[];

  constructor(lab: Lab, steps: readonly Step[] = [driverStep, dockerStep, toolkitStep]) {
    this.#lab = lab;
    this.#steps = steps;
  }

  async connected<T>(host: LabHost, work: (session: Session) => Promise<T>): Promise<T> {
    const transport = testTransport();
    const ssh = sshSpec({ address: host.address, user: host.user, identityFile: this.#lab.key });
    try {
      return await work(await transport.connect({ name: host.name, ssh }));
    } finally {
      await transport.close();
    }
  }

  facts(host: LabHost, desired: Desired): Promise<Facts> {
    return this.connected(host, async (session) =>
      withoutUnread(await gatherFacts(session, desired.host, desired.root)),
    );
  }

  /** The plan with what the package manager answers, as `azp-fleet plan` has it. */
  ask(host: LabHost, desired: Desired, disturbOthers = true): Promise<HostPlan> {
    return this.connected(host, async (session) => {
      const facts = await gatherFacts(session, desired.host, desired.root);
      const options = { steps: this.#steps, disturbOthers };
      const question = questionFor(facts, desired, options, {});
      if (question === undefined) return planHost(facts, desired, options, { answers: {}, final: false });
      const { stdout } = await session.script(`set -eu\n${question.script}`, { totalTimeoutMs: 300_000 });
      return planHost(facts, desired, options, { answers: question.read(stdout), final: false });
    });
  }

  /** Asks, and makes every change; gives all that was printed. */
  async converge(host: LabHost, desired: Desired): Promise<string> {
    const { stages, refusals } = await this.ask(host, desired);
    if (refusals.length > 0) throw new Error(`${host.name}: ${refusals.map(({ what }) => what).join('; ')}`);
    let output = '';
    for (const change of stages.flat())
      if (change.kind === 'change') output += await this.apply(host, change);
    return output;
  }

  /** @throws with what the script has printed. */
  async apply(host: LabHost, { id, title, actions }: Change): Promise<string> {
    let output = '';
    for (const action of actions) {
      if (action.kind === 'reboot') await host.reboot();
      if (action.kind !== 'run') continue;
      const { script, timeoutS } = action;
      const change = { id, title, owner: 'test', script, totalTimeoutMs: timeoutS * 1000 };
      const { code, tail } = await this.connected(host, (session) => session.durable(change));
      if (code !== 0) throw new Error(`${title}: ${tail}`);
      output += tail;
    }
    return output;
  }
}
