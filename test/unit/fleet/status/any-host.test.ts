// Whatever one host's files contain, the other hosts keep their rows.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { parseFacts, probes } from '../../../../src/fleet/facts/parse.ts';
import { planHost } from '../../../../src/fleet/plan/plan.ts';
import { statusText } from '../../../../src/cli/render/status.ts';
import { imageRow } from '../../../../src/fleet/status/image.ts';
import { agentsToFind, poolsSeen } from '../../../../src/fleet/status/collect.ts';
import { jobsView, statusRow, type Observation } from '../../../../src/fleet/status/row.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import { anyJson, damagedJson } from '../../../support/any-json.ts';
import { desiredOf } from '../../../support/host.ts';
import { facts, host, now, pool, slot, status } from './observation.ts';

const good: Observation = { host: { ...host, name: 'good' }, facts: facts() };
const texts: Readonly<Record<string, string>> = {
  os: 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
  machine:
    'kernel 6.1.0\narch x86_64\ntime 1795000000\nup 90000.1\ninit 1 (systemd) S 0\nsystemd systemd 252\nuser lab\nuid 1000\n',
  gpus: 'gpu 0000:83:00.0 2335 nvidia\n',
  docker: 'active\n',
  'docker-info': '{"ServerVersion":"29.1.0"}\n',
  manager: 'current /opt/azp-fleet/versions/1\nActiveState=active\nUnitFileState=enabled\n',
  'manager-status': `present\n${JSON.stringify(status())}`,
};

function frames(said: Readonly<Record<string, string>>) {
  const all: Readonly<Record<string, string>> = { ...texts, ...said };
  return new Map(
    probes.map(({ name }) => {
      const stdout = `${all[name] ?? ''}\nend\n`;
      return [name, { code: 0, stdout, stderr: '', durationMs: 1, timedOut: false }];
    }),
  );
}

/** Returns the status text of a host with these files and of a healthy one; also runs `--drift`, `--json` and `image which`. */
function shown(said: Readonly<Record<string, string>>): string {
  const bad: Observation = { host, facts: parseFacts(frames(said)) };
  const observations = [bad, good];
  for (const name of observations.flatMap(poolsSeen)) agentsToFind(observations, name);
  const rows = observations.map((observation) => statusRow(observation, () => pool, now));
  const drift = planHost(bad.facts as NonNullable<Observation['facts']>, desiredOf(), {
    steps: allSteps,
    disturbOthers: false,
  });
  JSON.stringify([rows, observations.map(imageRow), jobsView(rows, { permitted: 1, used: 0 }), drift]);
  return statusText(rows, { width: 80, paint: (_style, text) => text, height: 40 });
}

const rich = status({
  started: { program: 'p', unit: 'u' },
  pools: [{ name: 'gpu-lab', id: 1, up: true }],
  images: [{ state: 'ready', reference: 'r', slots: ['0'] }],
  archives: [{ archive: 'a', sha256: 'b', at: '2026-11-20T10:00:00Z' }],
  drains: [{ reason: 'why', at: '2026-11-20T10:00:00Z', owner: 'o', run: 'r' }],
  problems: [{ code: 'x', what: 'w', next: 'n' }],
  slots: [
    slot('0', {
      state: 'busy',
      job: 'j',
      jobSince: '2026-11-20T10:00:00Z',
      share: { cpuShares: 1024, memoryMiB: 5 },
    }),
  ],
});

const daemonJson = {
  'log-driver': 'json-file',
  'log-opts': { 'max-size': '1m' },
  runtimes: { nvidia: {} },
  proxies: {},
};
const info = {
  ServerVersion: '29.1.0',
  CgroupDriver: 'systemd',
  Runtimes: { runc: {} },
  DockerRootDir: '/var/lib/docker',
  LiveRestoreEnabled: true,
  Swarm: { LocalNodeState: 'inactive' },
};
const containers = [{ Id: '0123456789abcdef', Names: ['/x'], Labels: { a: 'b' } }];

test.each<[string, fc.Arbitrary<Readonly<Record<string, string>>>]>([
  ['the status file', damagedJson(rich).map((text) => ({ 'manager-status': `present\n${text}` }))],
  ['anything as the status file', anyJson.map((text) => ({ 'manager-status': `present\n${text}` }))],
  ['daemon.json', damagedJson(daemonJson).map((text) => ({ 'daemon-json': `present\n${text}` }))],
  ['anything as daemon.json', anyJson.map((text) => ({ 'daemon-json': `present\n${text}` }))],
  ["the engine's answer", damagedJson(info).map((text) => ({ 'docker-info': `${text}\n` }))],
  ['its containers', damagedJson(containers).map((text) => ({ 'docker-containers': `${text}\n` }))],
])('one host cannot break the status of others by %s', (_, said) => {
  fc.assert(
    fc.property(said, (each) => {
      expect(shown(each)).toContain('good ');
    }),
    { numRuns: 100 },
  );
});
