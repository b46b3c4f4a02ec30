import { expect, it } from 'vitest';

import type { ApplyTools } from '../../../../src/fleet/apply/apply-tools.ts';
import { planReached, reachHosts } from '../../../../src/fleet/apply/survey.ts';
import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { desiredOf } from '../../../support/host.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

const parallel = 5;

/** A fleet whose package managers are asked, with the number of its connections. */
function fleet(count: number) {
  const seen = { open: 0, most: 0, made: 0, asked: 0 };
  const fakes = Array.from({ length: count }, () => new FakeHost([change('docker')]));
  const hosts = fakes.map((_, index): HostSpec => ({ ...desiredOf().host, name: `gpu-${index}` }));
  const fakeOf = ({ name }: { readonly name: string }) =>
    fakes[Number(name.slice('gpu-'.length))] as FakeHost;
  for (const fake of fakes)
    fake.onScript = () => {
      seen.asked += 1;
      return 'unchanged';
    };
  const first = new FakeHost([]).tools({ parallel });
  const tools: ApplyTools = {
    ...first,
    transport: {
      ...first.transport,
      connect: async (target) => {
        seen.made += 1;
        seen.open += 1;
        seen.most = Math.max(seen.most, seen.open);
        const session = await fakeOf(target).tools().transport.connect(target);
        session.closed.addEventListener('abort', () => (seen.open -= 1), { once: true });
        return session;
      },
    },
    gather: (_session, host) => Promise.resolve(fakeOf(host).facts),
    plan: (facts, host, said) => ({
      ...fakeOf(host).tools().plan(facts, host),
      packages: said?.answers ?? {},
    }),
    question: (_facts, _host, known) =>
      known['docker'] === undefined
        ? { script: 'ask', read: (why) => ({ docker: { kind: 'unknown', why } }) }
        : undefined,
  };
  return { hosts, tools, seen };
}

it('a run that only plans closes the connection of each host before it opens more than `parallel`', async () => {
  const { hosts, tools, seen } = fleet(40);
  const reached = await reachHosts(hosts, tools, { follow: false });
  expect(seen).toEqual({ open: 0, most: parallel, made: 40, asked: 40 });
  const planned = await planReached(reached, tools);
  // The answers are known: no host is connected again.
  expect(seen).toEqual({ open: 0, most: parallel, made: 40, asked: 40 });
  expect(planned.failures).toEqual([]);
  expect(new Set(planned.hosts.map(({ plan }) => JSON.stringify(plan.packages)))).toEqual(
    new Set(['{"docker":{"kind":"unknown","why":"unchanged"}}']),
  );
});

it('a run that changes hosts keeps their connections', async () => {
  const { hosts, tools, seen } = fleet(10);
  const { hosts: planned } = await planReached(await reachHosts(hosts, tools, { follow: true }), tools);
  expect(seen).toEqual({ open: 10, most: 10, made: 10, asked: 10 });
  await Promise.all(planned.map(({ connection }) => connection.close()));
  expect(seen.open).toBe(0);
});
