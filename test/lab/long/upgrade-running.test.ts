// Changes that disturb no job, on a fleet at work: managers, tokens, agents and images of twelve slots on three hosts, with more jobs
// than slots all the time. Real: CLI, SSH, TLS, systemd, Docker, managers. Stand-ins: the GPUs, the agent program, Azure DevOps.
import { writeFileSync } from 'node:fs';
import type { Server } from 'node:tls';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { packedAgent } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { mirror, network, ports } from '../../../practice/lab/paths.ts';
import { makeCertificates, startTls } from '../../../practice/lab/tls.ts';
import { fourSlots, LoadedFleet, oneLine } from '../support/loaded-fleet.ts';
import { settings } from '../support/managed-host.ts';
import { pushAgentImage } from '../support/pushed-agent.ts';
import { release } from '../support/release.ts';

const names = ['r1', 'r2', 'r3'];
/** The same program as the lab's agent, with another version. */
const nextAgent = '5.280.0';
let fleet: LoadedFleet;
let tls: Server;
/** The file that the inventory names: the practice server accepts what another one has. */
let tokenFile: string;
/** The mirror of agents over TLS. */
let secure: string;
beforeAll(async () => {
  await packedAgent(nextAgent);
  fleet = await LoadedFleet.start('running', names, async (lab, azure) => {
    tokenFile = join(lab.folder, 'token-of-hosts');
    writeFileSync(tokenFile, `${azure.token}\n`, { mode: 0o600 });
    await makeCertificates(lab.folder, [`IP:${network.gateway}`]);
    const { server, port } = await startTls(lab.folder, network.gateway, {
      hostname: network.gateway,
      port: ports.mirror,
    });
    tls = server;
    secure = azure.agent.mirror.replace(mirror, `https://${network.gateway}:${port}`);
    return writeInventory(
      lab,
      { ...azure, agent: { ...azure.agent, mirror: secure } },
      { defaults: fourSlots, top: { token: { file: tokenFile }, ca: 'ca.crt' } },
    );
  });
});
afterAll(async () => {
  tls.close();
  await fleet.stop();
});

/** Runs a command on each host; returns its lines. */
const onEach = (command: string): Promise<readonly (readonly string[])[]> =>
  Promise.all(
    names.map(async (name) => {
      const { stdout } = await fleet.lab.host(name).exec(command, { allowFailure: true });
      return stdout.split('\n').filter(Boolean);
    }),
  );
const everywhere = (line: string, times = 1) => names.map(() => Array.from({ length: times }, () => line));
const agents = 'docker ps -q --filter label=azp-fleet.kind=agent';
const agentVersions = () => onEach(`for id in $(${agents}); do docker exec $id cat /azp/bin/version; done`);

describe('a manager', () => {
  const upgrade = ['upgrade', 'manager', '--to', 'default', '--yes'];

  test('that does not start is rolled back on the canary, and reaches no other host', async () => {
    const before = await fleet.everything();
    const broken = release(
      fleet.lab.folder,
      'broken',
      "console.error('broken on purpose'); process.exit(9);",
    );
    const { code, stderr } = await fleet.underLoad(() =>
      broken([...upgrade, '-i', fleet.inventory], { allowFailure: true }),
    );
    expect(code).toBe(1);
    expect(oneLine(stderr)).toContain('the previous one is restored');
    expect(await fleet.everything()).toEqual(before);
  });

  test('goes through the fleet', async () => {
    const version = 'readlink /opt/azp-fleet/current';
    const before = await onEach(version);
    const next = release(fleet.lab.folder, 'next');
    await fleet.underLoad(() => next([...upgrade, '-i', fleet.inventory]));
    for (const [index, now] of (await onEach(version)).entries()) expect(now).not.toEqual(before[index]);
  });
});

test('a token is rotated, and the earlier one is revoked at once: no manager restarts', async () => {
  const { azure } = fleet;
  const manager = 'systemctl show -p MainPID azp-fleet-manager';
  const before = [await onEach(manager), await fleet.everything()];
  const next = 'n'.repeat(20) + 'ext0token'.repeat(3);
  await fleet.underLoad(async () => {
    writeFileSync(azure.tokenFile, `${azure.token}\n${next}\n`, { mode: 0o600 });
    writeFileSync(tokenFile, `${next}\n`, { mode: 0o600 });
    await fleet.succeed('token', 'rotate', '--yes');
    // From here on each slot registers its agent for the next job with the new one.
    writeFileSync(azure.tokenFile, `${next}\n`, { mode: 0o600 });
  });
  expect([await onEach(manager), await fleet.everything()]).toEqual(before);
  expect(await onEach('cat /etc/azp-fleet/token')).toEqual(everywhere(next));
});

describe('an agent', () => {
  test('whose archive nothing verifies, over plain http: nothing is changed anywhere', async () => {
    const before = await fleet.everything();
    const plain = join(fleet.lab.folder, 'plain.yaml');
    writeFileSync(plain, fleet.text.replace(secure, fleet.azure.agent.mirror));
    const to = ['--to', nextAgent, '--yes', '-i', plain];
    const { code, stderr } = await azpFleet(fleet.lab.folder, ['upgrade', 'agent', ...to]);
    expect(code).toBe(2);
    expect(oneLine(stderr)).toContain('the agent is downloaded over plain http without a digest');
    expect(await fleet.everything()).toEqual(before);
  });

  test('goes through the fleet, slot by slot after its job', async () => {
    await fleet.underLoad(() => fleet.succeed('upgrade', 'agent', '--to', nextAgent, '--yes'));
    expect(fleet.text).toContain(nextAgent);
    await expect.poll(agentVersions, settings).toEqual(everywhere(nextAgent, 4));
    await fleet.succeed('plan');
  });

  test('that cannot be downloaded: no slot of the canary loses its image, and no other host gets its version', async () => {
    const before = { text: fleet.text, others: await fleet.traces(['r2', 'r3']) };
    const { code, stderr } = await fleet.underLoad(() =>
      fleet.cli('upgrade', 'agent', '--to', '5.281.0', '--yes'),
    );
    expect(code).toBe(1);
    expect(fleet.text).toBe(before.text);
    expect(await fleet.traces(['r2', 'r3'])).toEqual(before.others);
    expect(oneLine(stderr)).toContain('its agents keep the earlier image');
    await expect.poll(agentVersions, settings).toEqual(everywhere(nextAgent, 4));
    await fleet.succeed('upgrade', 'agent', 'r1', '--to', nextAgent, '--yes');
    await fleet.succeed('plan');
  });
});

test("a team's image is rolled out", async () => {
  const image = await pushAgentImage(fleet.azure);
  fleet.text = fleet.text.replace(/^defaults:\n/m, `$&  image: ${image}\n`);
  await fleet.underLoad(() => fleet.succeed('provision', '--yes'));
  const [id = ''] = (await onEach(`docker image inspect -f '{{.Id}}' ${image}`))[0] ?? [];
  const inUse = () => onEach(`docker inspect -f '{{.Image}}' $(${agents})`);
  await expect.poll(inUse, settings).toEqual(everywhere(id, 4));
  await fleet.succeed('plan');
});
