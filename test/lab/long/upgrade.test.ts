// `upgrade` of what disturbs jobs, on a fleet at work: twelve slots on three hosts, with more jobs than slots all the time. Real:
// CLI, SSH, apt, systemd, reboots, Docker, managers. Stand-ins: the GPUs, NVIDIA's packages, the agent program, Azure DevOps.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { breakAtBoot, repair } from '../support/gpu-fault.ts';
import { allIdle, fourSlots, LoadedFleet, oneLine } from '../support/loaded-fleet.ts';
import { settings } from '../support/managed-host.ts';

const names = ['u1', 'u2', 'u3'];
let fleet: LoadedFleet;
beforeAll(async () => {
  fleet = await LoadedFleet.start('upgrade', names, async (lab, azure) => {
    await withOldStorage(lab.host('u3'));
    return writeInventory(lab, azure, { defaults: fourSlots });
  });
  fleet.text = `# the lab of the upgrade test\n${fleet.text}# the end\n`;
});
afterAll(() => fleet.stop());

/** A storage driver that Docker 24 and newer cannot read. */
async function withOldStorage(host: LabHost): Promise<void> {
  await host.exec(`[ -s /etc/docker/daemon.json ] || echo '{}' >/etc/docker/daemon.json
perl -0pi -e 's/^\\{(\\s*)("?)/{ "storage-driver": "overlay"@{[$2 ? "," : ""]}$1$2/' /etc/docker/daemon.json
systemctl restart docker`);
}

test('the table has what is installed, configured, offered and supported, and changes nothing', async () => {
  const before = await fleet.everything();
  const { stdout } = await fleet.succeed('upgrade');
  expect(stdout).toMatch(/^driver +580\.95\.05 +580 +580\.95\.05, 595\.71\.05 +until 2028-06 +u\[1-3\]$/m);
  expect(stdout).toMatch(/^agent +5\.279\.0 +5\.279\.0 +5\.279\.0 /m);
  expect(await fleet.everything()).toEqual(before);
});

test('a Docker that could not read the images of one host: nothing is changed anywhere', async () => {
  const before = await fleet.everything();
  const { code, stderr } = await fleet.underLoad(() =>
    fleet.cli('upgrade', 'docker', '--to', '29.7.2', '--yes'),
  );
  expect(code).toBe(1);
  expect(oneLine(stderr)).toContain('Docker stores its images with overlay');
  expect(oneLine(stderr)).toContain('No changes made: not all hosts can be upgraded');
  expect(await fleet.everything()).toEqual(before);
});

describe('a driver that reboots the hosts', () => {
  test('the canary loses its GPU: nothing after it is touched, the inventory is unchanged, the way back is named', async () => {
    const before = { text: fleet.text, others: await fleet.traces(['u2', 'u3']) };
    await breakAtBoot(fleet.lab.host('u1'));
    const { code, stderr } = await fleet.underLoad(() =>
      fleet.cli('upgrade', 'driver', '--to', '595', '--yes'),
    );
    expect(code).toBe(1);
    expect(fleet.text).toBe(before.text);
    expect(await fleet.traces(['u2', 'u3'])).toEqual(before.others);
    expect(await fleet.on('u1').states()).toMatch(/^(drained ?){4}$/);
    expect(oneLine(stderr)).toContain('to go back (docs/upgrade.md): azp-fleet upgrade driver u1 --to 580');
  });

  test('repaired, the same command ends what it began, and writes the version with the comments kept', async () => {
    await repair(fleet.lab.host('u1'));
    const before = fleet.text;
    // The slots of the canary are drained.
    await fleet.underLoad(() => fleet.succeed('upgrade', 'driver', '--to', '595', '--yes'), 8);
    expect(fleet.text).toBe(before.replace(/(driver:\s+branch: )"?580"?/, '$1"595"'));
    for (const name of names) await expect.poll(fleet.on(name).states, settings).toBe(allIdle);
    await fleet.succeed('plan');
  });

  test('the way back of one host is written at that host, and the others stay', async () => {
    const others = await fleet.traces(['u1', 'u3']);
    await fleet.underLoad(() => fleet.succeed('upgrade', 'driver', 'u2', '--to', '580', '--yes'));
    expect(fleet.text).toContain('driver: { branch: "580" }');
    expect(await fleet.traces(['u1', 'u3'])).toEqual(others);
    await fleet.succeed('plan');
  });
});
