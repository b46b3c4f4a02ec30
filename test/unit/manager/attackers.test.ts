// The short form of the attacks of `npm run soak`: the whole daemon with a fake Azure DevOps server and a stand-in dockerd, both
// over real sockets.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answerNonsense, halfRequests } from '../../../bench/soak/attackers.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { freePort } from '../../support/ssh-port.ts';

const slots = ['0', '1', '2'];
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Another user of the machine; resolves when it has opened its connections. */
async function attackPort(port: number): Promise<{ end(): Promise<unknown> }> {
  const attacker = spawn('bash', ['-s'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const closed = once(attacker, 'close');
  attacker.stdin.end(halfRequests(port, 200, 600));
  await once(attacker.stdout, 'data');
  return {
    end: () => {
      attacker.kill('SIGKILL');
      return closed;
    },
  };
}

test('half-sent requests, thousands of capabilities and a server that answers nonsense cost other slots no job', async () => {
  const port = await freePort();
  await rig.start({ agents: { kind: 'count', count: 3 }, metricsPort: port });
  await rig.until('idle', slots);
  const first = slots.map((slot) => rig.docker.get(`box-${slot}`)?.id);
  rig.beginJob('box-0', 'publishes');
  rig.beginJob('box-1');
  await rig.until('busy', ['0', '1']);

  const user = await attackPort(port);
  await rig.control.publishCapabilities('box-0', 30_000);
  const nonsense = answerNonsense(rig.control, 5_000, new AbortController().signal);
  // One job ends, and another begins and ends, while all of it goes on.
  rig.endJob('box-1');
  rig.beginJob('box-2');
  await rig.until('busy', ['2']);
  rig.endJob('box-2');
  rig.endJob('box-0', 'publishes');
  await nonsense;
  await expect
    .poll(() => slots.filter((slot, at) => rig.docker.get(`box-${slot}`)?.id === first[at]))
    .toEqual([]);
  // Also the slot of the job that published them: its agent's key and capabilities are replaced once the server answers.
  await rig.until('idle', slots);
  await user.end();

  for (const slot of slots) expect(await rig.slot(slot)).toMatchObject({ jobsRun: 1 });
  await expect.poll(() => scrape(port)).toBe(200);
  await expect.poll(async () => (await rig.status()).problems).toEqual([]);
});

/** Returns the status of a scrape; undefined: no answer. */
const scrape = (port: number): Promise<number | undefined> =>
  fetch(`http://127.0.0.1:${port}/metrics`).then(
    ({ status }) => status,
    () => undefined,
  );
