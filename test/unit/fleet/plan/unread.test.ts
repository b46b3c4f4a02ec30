// What could not be read of a host is unknown, never absent: no plan gains a change by it, and none loses a refusal.
import { describe, expect, it, test } from 'vitest';

import type { Facts, GatheredFacts } from '../../../../src/fleet/facts/facts.ts';
import { parseFacts, probes } from '../../../../src/fleet/facts/parse.ts';
import { machineProbe } from '../../../../src/fleet/facts/probes/machine.ts';
import { factsDigest } from '../../../../src/fleet/plan/digest.ts';
import { desiredNames } from '../../../../src/fleet/plan/held-names.ts';
import { planHost, questionFor } from '../../../../src/fleet/plan/plan.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import { knownPools, laterPools } from '../../../../src/fleet/steps/pool-names.ts';
import type { Frame } from '../../../../src/fleet/ssh/session/frames.ts';
import { desiredOf } from '../../../support/host.ts';
import { bare, engine, framesOf, nodes, type Texts } from '../../../support/machines.ts';

const container = '0123456789abcdef'.repeat(4);
const hosts: Readonly<Record<string, Texts>> = {
  'a bare host': bare,
  'a host with an older driver': { ...bare, ...engine, driver: 'loaded 570.1.1\nsecure-boot 0\n' },
  'a host with containers of others': {
    ...bare,
    ...engine,
    'docker-containers': `[{"Id":"${container}","Names":["/grafana"],"Labels":{}}]\n`,
  },
  'a host with work of others on its GPUs': {
    ...bare,
    ...engine,
    driver: 'loaded 570.1.1\nsecure-boot 0\n',
    others: `login eve pts/0\ngpu-process 77 train\ngpu-group 77 /kubepods/burstable/${container}\n`,
  },
  'a host with Secure Boot': { ...bare, driver: 'secure-boot 1\n' },
  'a host with a snap': { ...bare, docker: 'snap\n' },
  'a host with daemon.json in no JSON': { ...bare, 'daemon-json': 'present\n{' },
  'a node of Kubernetes': nodes['a node of kubeadm whose containerd.io is held'],
  'a host with nouveau': { ...bare, driver: 'nouveau\nsecure-boot 0\n' },
};

type Fault = (frame: Frame, limitS: number) => Frame | undefined;
const faults: Readonly<Record<string, Fault>> = {
  hangs: (frame, limitS) => ({ ...frame, code: 124, timedOut: true, stdout: '', durationMs: limitS * 1000 }),
  'hangs after its answer': (frame, limitS) => ({
    ...frame,
    code: 124,
    timedOut: true,
    durationMs: limitS * 1000,
  }),
  'ends with 1': (frame) => ({ ...frame, code: 1, stderr: 'no bus\n' }),
  'has no end': (frame) => ({ ...frame, stdout: frame.stdout.slice(0, -'\nend\n'.length) }),
  'stops in a line': (frame) => ({ ...frame, stdout: frame.stdout.slice(0, frame.stdout.length / 2) }),
  'is killed': (frame) => ({ ...frame, code: 137, stdout: frame.stdout.slice(0, 3) }),
  'says garbage': (frame) => ({ ...frame, stdout: '\u0000~%&\nend\n' }),
  'has no frame': () => undefined,
};

const desired = desiredOf();
const options = { steps: allSteps, disturbOthers: false };
const planned = (facts: Facts) => planHost(facts, desired, options);

const rows = Object.keys(hosts).flatMap((host) =>
  probes.flatMap(({ name, timeoutS }) =>
    Object.keys(faults).map((fault) => ({ host, name, fault, limitS: timeoutS ?? 5 })),
  ),
);

function broken({ host, name, fault, limitS }: (typeof rows)[number]): Map<string, Frame> {
  const frames = framesOf(hosts[host] ?? {});
  const frame = faults[fault]?.(frames.get(name) as Frame, limitS);
  if (frame === undefined) frames.delete(name);
  else frames.set(name, frame);
  return frames;
}

describe.each(Object.keys(hosts))('%s', (host) => {
  const before = () => planned(parseFacts(framesOf(hosts[host] ?? {})));

  it('is planned with all of its facts', () => {
    expect(before().stages.length + before().refusals.length).toBeGreaterThan(0);
    expect(before().unknown).toBeUndefined();
  });

  const own = rows.filter((each) => each.host === host);
  it.each(own)('$name $fault', (row) => {
    const frames = broken(row);
    if (row.name === 'os' || row.name === 'machine') {
      expect(() => parseFacts(frames)).toThrow(`the host's ${row.name} facts could not be read`);
      return;
    }
    const facts = parseFacts(frames);
    expect(facts.unknown.map(({ fact }) => fact)).toEqual([row.name]);
    const after = planned(facts);
    expect(after.unknown).toEqual(facts.unknown);
    const incomplete = after.refusals.find(({ step }) => step === 'facts');
    if (incomplete === undefined) {
      // No step read it.
      expect(after.stages).toEqual(before().stages);
      expect(after.refusals).toEqual(before().refusals);
    } else {
      expect(after.stages).toEqual([]);
      expect(incomplete.what).toContain(`facts incomplete: ${row.name} (${facts.unknown[0]?.why ?? ''})`);
      expect(incomplete.next).toContain('find out why on the host: ');
      expect(() => questionFor(facts, desired, options, {})).not.toThrow();
    }
  });
});

it('a host whose work of others is unknown is not rebooted, unless that may be disturbed', () => {
  for (const name of ['others', 'docker-containers']) {
    const facts = parseFacts(broken({ host: 'a host with nouveau', name, fault: 'hangs', limitS: 5 }));
    expect(planned(facts).stages).toEqual([]);
    expect(planHost(facts, desired, { ...options, disturbOthers: true }).stages).not.toEqual([]);
  }
});

it('a host whose orchestrators are unknown is not changed, because the packages of their nodes stay in any case', () => {
  const facts = parseFacts(
    broken({ host: 'a host with nouveau', name: 'orchestrators', fault: 'ends with 1', limitS: 5 }),
  );
  expect(planHost(facts, desired, { ...options, disturbOthers: true })).toMatchObject({
    stages: [],
    refusals: [{ step: 'facts', what: 'facts incomplete: orchestrators (exit code 1: no bus)' }],
  });
});

test('dockerd that does not answer is refused by the name of its probe', () => {
  const facts = parseFacts(
    broken({ host: 'a host with an older driver', name: 'docker-info', fault: 'hangs', limitS: 8 }),
  );
  expect(planned(facts).refusals[0]).toEqual({
    step: 'facts',
    what: 'dockerd is running and does not answer on its socket; facts incomplete: docker-info (no answer in 8 s)',
    next: 'check journalctl -u docker.service; if no container is needed any more: sudo systemctl restart docker; find out why on the host: sudo curl --unix-socket /run/docker.sock http://docker/info; then run again',
  });
});

test('steps that do not read what is unknown still refuse', () => {
  const facts = parseFacts(
    broken({ host: 'a host with Secure Boot', name: 'docker-info', fault: 'hangs', limitS: 8 }),
  );
  const before = planned(parseFacts(framesOf(hosts['a host with Secure Boot'] ?? {})));
  expect(before.refusals.map(({ step }) => step)).toContain('driver');
  for (const refusal of before.refusals.filter(({ step }) => step === 'driver'))
    expect(planned(facts).refusals).toContainEqual(refusal);
});

test('neither pools nor names are planned by what is unknown', () => {
  const { host } = desiredOf({ pool: 'gpu-{generation}-cuda{cudaMajor}' });
  for (const name of ['gpus', 'driver', 'manager', 'manager-status']) {
    const facts = parseFacts(broken({ host: 'a bare host', name, fault: 'hangs', limitS: 5 }));
    if (name === 'gpus' || name === 'driver')
      expect([...knownPools(host, facts), ...laterPools(host, facts)]).toEqual([]);
    if (name !== 'driver') expect(desiredNames(desired.host, facts)).toEqual([]);
  }
});

test('a pool is not named after the running driver while the packages of a newer one are unknown', () => {
  const pool = 'gpu-cuda{cuda}';
  const { host } = desiredOf({ pool, driver: { orNewer: true, branch: '570' } });
  const row = { host: 'a host with an older driver', name: 'packages-apt', limitS: 5 };
  expect(knownPools(host, parseFacts(framesOf(hosts[row.host] ?? {})))).toEqual(['gpu-cuda12.8']);
  expect(knownPools(host, parseFacts(broken({ ...row, fault: 'hangs' })))).toEqual([]);
});

test('only facts without which nothing can be said about a host are read without asking whether they are known', () => {
  const facts: GatheredFacts = parseFacts(framesOf(bare));
  // @ts-expect-error It may be unknown.
  expect(facts.docker).toBeDefined();
  const always = ['os', ...machineProbe.facts].filter((fact) => fact !== 'rebootRequired');
  const others = probes.filter(({ name }) => name !== 'os' && name !== 'machine');
  for (const { facts: those } of others) for (const fact of those) expect(always).not.toContain(fact);
});

test('why they are unknown is not part of the digest of facts', () => {
  const digest = (fault: string, name: string) =>
    factsDigest(parseFacts(broken({ host: 'a bare host', name, fault, limitS: 5 })));
  expect(digest('hangs', 'files')).toBe(digest('is killed', 'files'));
  expect(digest('hangs', 'files')).not.toBe(digest('hangs', 'kernels'));
});
