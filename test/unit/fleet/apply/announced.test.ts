// Makes every change of every table of cases. The host must get exactly the announced actions, in the announced
// order.
import { describe, expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { HostPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import { needsDrain } from '../../../../src/fleet/plan/refine.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import { type Action, type Change, reboots } from '../../../../src/fleet/steps/change.ts';
import type { Desired, Step } from '../../../../src/fleet/steps/step.ts';
import { merge } from '../../../support/host.ts';
import { cases as hostStackCases } from '../steps/host-stack-cases.ts';
import { simulate } from '../steps/simulate.ts';
import { managerCases } from '../steps/manager/cases.ts';
import { artifacts, converged, defaults } from '../steps/manager/converged.ts';
import { RecordingHost, secrets, type Effect } from './recording-host.ts';

const named = (...names: readonly string[]): readonly Step[] =>
  allSteps.filter(({ name }) => names.includes(name));

/**
 * Returns the facts after a change. After one change of the manager's step, all of them are done. After a reboot the
 * manager builds the image for the new driver.
 */
function after(facts: Facts, change: Change, desired: Desired): Facts {
  if (change.step === 'manager' || change.step === 'image') return converged(desired, facts);
  const changed = simulate(facts, change, desired);
  const { status } = changed.manager;
  if (!reboots(change) || status === undefined) return changed;
  return merge(changed, { manager: { status: { ...status, image: { state: 'building' } } } });
}

/** Returns the commands of an action. Waiting for the manager has none. */
function announcedBy({ id }: Change, action: Action, index: number): readonly Effect[] {
  switch (action.kind) {
    case 'run': {
      const { script, timeoutS } = action;
      if (!action.durable) return [{ kind: 'script', text: `set -eu\n${script}` }];
      return [{ kind: 'durable', id: index === 0 ? id : `${id}-${index}`, script, limitMs: timeoutS * 1000 }];
    }
    case 'upload':
      return [{ kind: 'upload', path: action.path, mode: action.mode, sha256: action.artifact.sha256 }];
    case 'credential':
    case 'registries':
    case 'webhook':
      return [{ kind: 'upload', path: action.path, mode: 0o600, sha256: sha256(secrets[action.kind]) }];
    case 'reboot':
      return [{ kind: 'reboot' }];
    default:
      return [];
  }
}

/**
 * Returns the announced commands of the changes that were made. A drain is announced by what a change disturbs, and begins with
 * the first stage that needs it; or by agents that an earlier run left drained, which this run takes over at once and
 * enables again. A change that is not needed any more is not made. A shape is
 * announced by its step and by what it disturbs.
 */
function announced(plan: HostPlan, { manager }: Facts, made: readonly Change[]): readonly Effect[] {
  const known = new Set(plan.stages.flat().flatMap((each) => (each.kind === 'change' ? [each.id] : [])));
  const stages = plan.stages.map((stage) =>
    stage.flatMap((each) =>
      made.filter((one) =>
        each.kind === 'change'
          ? one.id === each.id
          : !known.has(one.id) && one.step === each.step && one.disturbs === each.disturbs,
      ),
    ),
  );
  const left = plan.stages
    .flat()
    .some((each) => each.kind === 'change' && each.id.startsWith('manager-undrain'));
  const draining = manager.unitActive !== 'active' ? -1 : left ? 0 : stages.findIndex(needsDrain);
  const request = (line: string): Effect => ({ kind: 'request', line });
  const effects = stages.flatMap((stage, index) => [
    ...(index === draining ? [request('POST /v1/drain')] : []),
    ...stage.flatMap((change) =>
      change.actions.flatMap((action, place) => announcedBy(change, action, place)),
    ),
  ]);
  return [...effects, ...(draining < 0 ? [] : [request('POST /v1/undrain')])];
}

async function expectAnnounced(steps: readonly Step[], facts: Facts, desired: Desired): Promise<void> {
  const host = new RecordingHost(steps, facts, desired, after);
  try {
    const survey = await host.survey();
    if (survey.plan.refusals.length > 0) return;
    const outcome = await applyHost(survey, host.tools(), { exactFacts: true });
    expect(outcome.problem).toBeUndefined();
    expect(host.effects).toEqual(announced(survey.plan, facts, host.made));
  } finally {
    host.close();
  }
}

describe('apply does exactly what the plan announced', () => {
  it.each(hostStackCases)('driver, docker and toolkit: %s', async (_, facts, desired) => {
    await expectAnnounced(named('driver', 'docker', 'toolkit'), facts, desired);
  });

  it.each(managerCases)('image and manager: %s', async (_, facts, desired) => {
    await expectAnnounced(named('image', 'manager'), facts, desired);
  });

  it.each(hostStackCases)('all steps: %s', async (_, facts, desired) => {
    await expectAnnounced(allSteps, facts, whole(desired));
  });

  it.each(hostStackCases)('all steps, with agents at work: %s', async (_, facts, desired) => {
    await expectAnnounced(allSteps, converged(whole(desired), facts), whole(desired));
  });
});

/** Adds a manager to upload. */
function whole(desired: Desired): Desired {
  return { ...desired, artifacts: artifacts(), credentialDigest: defaults.credentialDigest };
}
