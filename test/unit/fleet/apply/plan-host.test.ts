import { describe, expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import type { ApplyTools } from '../../../../src/fleet/apply/apply-tools.ts';
import { planReached } from '../../../../src/fleet/apply/survey.ts';
import { withoutUnread } from '../../../../src/fleet/facts/unread.ts';
import type { Answer } from '../../../../src/fleet/packages/simulation.ts';
import { type Change, later, type Shape } from '../../../../src/fleet/steps/change.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { factsOf } from '../../../support/host.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

const none = { removes: [], installs: [], upgrades: [], downgrades: [], kept: [] } as const;
const known = (...names: string[]): Answer => ({
  kind: 'value',
  value: {
    ...none,
    removes: names.map((name) => ({ name, from: '1' })),
  },
});
const older = (name: string): Answer => ({
  kind: 'value',
  value: {
    ...none,
    downgrades: [{ name, from: '2', to: '1' }],
  },
});
const silent: Answer = { kind: 'unknown', why: 'no answer' };

/**
 * Creates a host that lacks one package, `docker`, with its package manager's answers to each exec in turn. By facts alone
 * the plan announces that `docker.io` is removed.
 */
function host(...answers: (Answer | FleetError)[]): {
  fake: FakeHost;
  tools: ApplyTools;
  asked: () => number;
} {
  let asked = 0;
  const fake = new FakeHost([]);
  fake.onScript = () => {
    const answer = answers[asked] ?? silent;
    asked += 1;
    if (answer instanceof FleetError) throw answer;
    return JSON.stringify(answer);
  };
  const tools: ApplyTools = {
    ...fake.tools(),
    plan: (facts, spec, said) => {
      const answer = said?.answers['docker'] ?? silent;
      fake.pending = [planned(answer, said?.final ?? false)];
      const plan = fake.tools().plan(facts, spec);
      return { ...plan, packages: said?.answers ?? {} };
    },
    question: (facts, _, before) => {
      if (Object.keys(withoutUnread(facts).packages).some((name) => name.startsWith('docker')))
        return undefined;
      if (before['docker'] !== undefined && before['docker'].kind !== 'unknown') return undefined;
      return {
        script: 'ask',
        read: (output) => ({ docker: output === '' ? silent : (JSON.parse(output) as Answer) }),
      };
    },
  };
  return { fake, tools, asked: () => asked };
}

function planned(answer: Answer, final: boolean): Change | Shape {
  const removes = answer.kind === 'value' ? answer.value.removes.map(({ name }) => name) : ['docker.io'];
  const downgrades = answer.kind === 'value' ? answer.value.downgrades.map(({ name }) => name) : [];
  const bound = { removes, downgrades };
  const bounded = { ...change(`docker ${removes.join(' ')}`), bound };
  return answer.kind === 'value' || final ? bounded : { ...later(bounded, 'docker'), bound };
}

async function survey({ fake, tools }: Pick<ReturnType<typeof host>, 'fake' | 'tools'>) {
  const { hosts, failures } = await planReached([fake.survey(tools)], tools);
  return { found: hosts[0], failures };
}
async function provision(at: ReturnType<typeof host>) {
  const { found } = await survey(at);
  if (found === undefined) throw new Error('the host was to be planned');
  return applyHost(found, at.tools, { exactFacts: false });
}

describe('the question for the package manager', () => {
  it('is one exec for a pending package change, with an event', async () => {
    const at = host(known('gdm3'));
    const { found } = await survey(at);
    expect(at.asked()).toBe(1);
    expect(found?.plan.stages.flat()).toMatchObject([{ bound: { removes: ['gdm3'] } }]);
    expect(at.fake.events).toContainEqual({
      kind: 'host-state',
      host: 'h200-1',
      state: 'asking',
      text: 'simulating the package changes',
    });
  });

  it('is no exec without a package change', async () => {
    const at = host();
    at.fake.facts = factsOf({ packages: { docker: '1' } });
    await survey(at);
    expect(at.asked()).toBe(0);
    expect(at.fake.events.filter(({ kind }) => kind === 'host-state')).toEqual([]);
  });

  it('is not repeated under the lock: the announced answers count', async () => {
    const at = host(known('gdm3'), known('gdm3', 'kubelet'));
    expect(await provision(at)).toMatchObject({ state: 'changed', changes: 1 });
    expect(at.asked()).toBe(1);
    expect(at.fake.log).toContain('docker gdm3');
  });

  it.each<[string, Answer, string | undefined]>([
    ['removes nothing', known(), undefined],
    ['removes what facts announced', known('docker.io'), undefined],
    ['removes a package that was not named', known('docker.io', 'gdm3'), 'it would remove gdm3 as well'],
    ['downgrades one', older('libc6'), 'it would downgrade libc6 as well'],
  ])('without an answer before: the answer under the lock %s', async (_, answer, stopped) => {
    const at = host(silent, answer);
    const { state, problem } = await provision(at);
    expect(at.asked()).toBe(2);
    expect(state).toBe(stopped === undefined ? 'changed' : 'failed');
    if (stopped !== undefined) expect(problem?.what).toContain(stopped);
  });

  it('without an answer under the lock: the change runs within the announced bound', async () => {
    const at = host(silent, silent);
    expect(await provision(at)).toMatchObject({ state: 'changed' });
    expect(at.fake.log).toContain('docker docker.io');
  });

  it('that takes too long has no answer; a lost connection is an error', async () => {
    const problem = { what: 'x', next: 'y' };
    const slow = host(new FleetError({ code: 'ssh.script-timeout', ...problem }));
    expect((await survey(slow)).found?.plan.stages.flat()).toMatchObject([{ kind: 'shape' }]);
    const lost = host(new FleetError({ code: 'ssh.connection-lost', ...problem }));
    const { found, failures } = await survey(lost);
    expect(found).toBeUndefined();
    expect(failures).toHaveLength(1);
  });
});
