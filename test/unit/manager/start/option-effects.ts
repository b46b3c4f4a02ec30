import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tar } from '../../../../src/shared/base/tar.ts';
import type { RunRecord } from '../../../../src/shared/contract/status.ts';
import { expect } from 'vitest';
import { generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { options, parseArguments } from '../../../../src/manager/start/arguments.ts';
import { runClient } from '../../../../src/manager/start/client-commands.ts';
import { journalLogger } from '../../../../src/manager/start/reporting.ts';
import { configuration, openState, runPaths } from '../../../../src/manager/start/configuration.ts';
import type { ManagerRig } from '../../../support/manager-rig.ts';
import { newAgent } from '../../practice/azure/server.ts';
import { config } from '../../../support/manager-config.ts';

/** Returns the configuration of a standalone machine with these options. */
async function alone(...given: readonly string[]) {
  const least = ['--url', 'https://dev.azure.com/lab', '--pool', 'p', '--token-file', '/t'];
  return (await configuration(parseArguments(['run', ...least, ...given]).values)).config;
}

function places(...given: readonly string[]) {
  return runPaths(parseArguments(['run', ...given]).values, '/program', {});
}

function asked(rig: ManagerRig, ...given: readonly string[]): Promise<string> {
  return runClient(parseArguments(given), rig.socket, false);
}

/** Ends the container of slot 1 with a failure and a log of the agent. */
async function failWithLog(rig: ManagerRig, log: string): Promise<void> {
  if (rig.docker.get('box-1') === undefined) await rig.start();
  await rig.until('idle', ['1']);
  const container = rig.docker.get('box-1');
  if (container === undefined) throw new Error('slot 1 has no container');
  container.outgoing = await tar([
    { path: '_diag/Agent_1.log', content: Buffer.from(`${log}\n`), mode: 0o600 },
    { path: '_diag/pages/1.log', content: Buffer.from('of a job'), mode: 0o600 },
  ]);
  rig.docker.end(container.id, 1);
  await expect.poll(() => rig.docker.get('box-1')?.id ?? container.id).not.toBe(container.id);
}

/** A check for each option of the manager. */
export const optionEffects: Readonly<
  Record<keyof typeof options, (rig: ManagerRig) => Promise<void> | void>
> = {
  async config({ directory }) {
    const file = join(directory, 'manager.json');
    writeFileSync(file, JSON.stringify(config({ host: 'from-file' })));
    const loaded = await configuration(parseArguments(['run', '--config', file]).values);
    expect(loaded.config.host).toBe('from-file');
  },
  async url() {
    expect(await alone('--url', 'https://dev.azure.com/other')).toMatchObject({
      organization: 'https://dev.azure.com/other',
    });
  },
  async pool() {
    expect(await alone('--pool', 'other')).toMatchObject({ pool: 'other' });
  },
  async agents() {
    expect(await alone('-n', '3')).toMatchObject({ agents: { kind: 'count', count: 3 } });
  },
  async name() {
    expect(await alone('--name', 'big')).toMatchObject({ host: 'big' });
  },
  async image() {
    expect(await alone('-d', 'me/agent:1')).toMatchObject({ image: { reference: 'me/agent:1' } });
  },
  async volume() {
    expect(await alone('--volume', '/a:/b:C')).toMatchObject({ datasets: [{ name: 'C' }] });
  },
  async share() {
    expect(await alone('--share')).toMatchObject({ share: true });
  },
  async sudo() {
    expect(await alone('--sudo')).toMatchObject({ jobs: { sudo: true } });
  },
  async 'metrics-port'() {
    expect(await alone('--metrics-port', '9417')).toMatchObject({ metricsPort: 9417 });
  },
  'token-file'() {
    expect(places('--token-file', '/t').tokens).toEqual(['/t']);
  },
  async adopt(rig) {
    await rig.azure.createAgent(rig.poolId, newAgent('box-0', await generateAgentKey()));
    await openState(parseArguments(['run', '--adopt']).values, join(rig.directory, 'state'), 'machine-1');
    await rig.start();
    await rig.until('idle');
  },
  async state({ directory }) {
    const state = join(directory, 'elsewhere');
    mkdirSync(state);
    expect(places('--state', state).state).toBe(state);
  },
  context() {
    expect(places().context).toBe('/program/dockeragent');
    expect(places('--context', '/c').context).toBe('/c');
    // A build in a clone finds the build context of the clone.
    expect(runPaths({}, resolve('dist'), {}).context).toBe(resolve('dockeragent'));
  },
  'status-file'() {
    expect(places('--status-file', '/s').status).toBe('/s');
  },
  docker() {
    expect(places('--docker', '/d').docker).toBe('/d');
  },
  debug() {
    const lines: string[] = [];
    const { debug = false } = parseArguments(['run', '--debug']).values;
    journalLogger((line) => lines.push(line), debug).log('debug', 'a detail');
    expect(lines).toHaveLength(1);
  },
  socket() {
    expect(places('--socket', '/s').socket).toBe('/s');
  },
  async reason(rig) {
    await rig.start();
    await rig.until('idle');
    await asked(rig, 'drain', '--reason', 'new cables');
    expect((await rig.slot('0')).cause).toMatch(/^drained by [^@ ]+@[^@ ]+: new cables$/);
  },
  async gpu(rig) {
    await rig.start();
    await rig.until('idle');
    await expect(asked(rig, 'repaired', '--gpu', '0000:99:00.0')).rejects.toMatchObject({
      problem: { what: expect.stringContaining('no GPU at 0000:99:00.0') as string },
    });
  },
  async tail(rig) {
    await rig.start();
    await rig.until('idle', ['1']);
    const [, last] = (await asked(rig, 'logs', '1', '--tail', '2')).trim().split('\n');
    expect(last).toContain('Listening for Jobs');
    expect((await asked(rig, 'logs', '1', '--tail', '1')).trim().split('\n')).toHaveLength(1);
  },
  async diag(rig) {
    await failWithLog(rig, 'what went wrong');
    expect(await asked(rig, 'logs', '1', '--diag')).toMatch(
      /^==> Agent_1\.log of run .*\nwhat went wrong\n$/,
    );
    await expect(asked(rig, 'logs', '0', '--diag')).rejects.toThrow('no agent logs are kept of slot 0');
  },
  async run(rig) {
    await failWithLog(rig, 'the first time');
    const [first] = JSON.parse(await asked(rig, 'runs', '1')) as RunRecord[];
    await failWithLog(rig, 'the second time');
    const ofFirst = await asked(rig, 'logs', '1', '--diag', '--run', first?.run ?? '');
    expect(ofFirst).toContain('the first time');
    expect(await asked(rig, 'logs', '1', '--diag')).toContain('the second time');
  },
  async of(rig) {
    await rig.start();
    await rig.until('idle');
    await rig.post('/v1/drain', { reason: 'fan', owner: 'bob@desk' });
    await expect(asked(rig, 'undrain')).rejects.toMatchObject({
      problem: { code: 'drain.left', seen: expect.stringContaining('bob@desk: fan') as string },
    });
    expect(JSON.parse(await asked(rig, 'undrain', '--of', 'bob'))).toMatchObject({ drains: [] });
  },
  help() {
    expect(parseArguments(['run', '--help']).command).toBe('help');
  },
};
