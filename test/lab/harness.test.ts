// The lab itself. Real: systemd, sshd, sudo, apt, Docker Engine, the reboot. Stand-ins: GPUs, driver, toolkit.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { mirror, registry } from '../../practice/lab/paths.ts';
import { type Lab, startLab } from '../../practice/lab/lab.ts';
import type { LabHost } from '../../practice/lab/host.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await startLab({
    prefix: 'harness',
    hosts: [
      { name: 'hook', release: 'bookworm', login: 'sudo', gpus: ['h200', 'l40s'] },
      { name: 'cdi', release: 'trixie', login: 'root', gpus: ['h200'] },
    ],
  });
});
afterAll(() => lab.remove());

const image = `${registry}/nvidia/cuda:13.0.3-base-ubuntu24.04`;

describe.each(['hook', 'cdi'])('the host %s', (name) => {
  const host = (): LabHost => lab.host(name);

  test('answers over ssh, and has none of what azp-fleet installs', async () => {
    const { stdout } = await host().ssh('id -un; command -v docker nvidia-smi python3 curl || echo bare');
    expect(stdout).toBe(`${host().user}\nbare\n`);
  });

  test('installs driver, engine and toolkit from the mirror with apt, and a container sees the GPUs', async () => {
    await host().exec(byHand, { timeoutMs: 1_500_000 });
    const listed = host().gpus.map((gpu, index) => `GPU ${index}: ${gpu.name} (UUID: ${gpu.uuid})\n`);
    expect((await host().exec('nvidia-smi -L')).stdout).toBe(listed.join(''));
    const request = name === 'hook' ? '--gpus all' : '--device nvidia.com/gpu=all';
    const seen = await host().exec(`docker run --rm --network none ${request} ${image} nvidia-smi -L`);
    expect(seen.stdout).toBe(listed.join(''));
  });

  test('shows a container that asked for one GPU only that one, and its faults at once', async () => {
    const { uuid } = host().gpus.at(-1) ?? { uuid: '' };
    const request = name === 'hook' ? `--gpus device=${uuid}` : `--device nvidia.com/gpu=${uuid}`;
    await host().exec(`docker run -d --name one ${request} ${image} sleep 600`);
    const query = 'docker exec one nvidia-smi --query-gpu=index,uuid --format=csv,noheader';
    expect((await host().exec(query)).stdout).toBe(`0, ${uuid}\n`);
    await host().setGpuFaults([`exit15 ${host().gpus.length - 1}`]);
    expect((await host().exec(query, { allowFailure: true })).code).toBe(15);
    await host().setGpuFaults([]);
    await host().exec('docker rm -f one');
  });

  test('reboots for real: a new boot id, the module loaded, the engine up', async () => {
    const before = await host().bootId();
    await host().reboot();
    expect(await host().bootId()).not.toBe(before);
    expect((await host().exec('nvidia-smi -L && docker version --format {{.Server.Os}}')).stdout).toContain(
      'linux\n',
    );
  });
});

test('a host without its driver says so as nvidia-smi does', async () => {
  await lab.host('hook').exec('modprobe -r nvidia');
  const { code, stdout } = await lab.host('hook').exec('nvidia-smi', { allowFailure: true });
  expect(code).toBe(9);
  expect(stdout).toContain("couldn't communicate with the NVIDIA driver");
  await lab.host('hook').exec('modprobe nvidia');
});

test('a black hole loses packets both ways, and ends', async () => {
  const host = lab.host('cdi');
  await host.blackHole(true);
  const lost = await host.ssh('true', { allowFailure: true });
  expect(lost.stderr).toContain('timed out');
  await host.blackHole(false);
  expect((await host.ssh('echo back')).stdout).toBe('back\n');
});

/** What a person would type on a fresh host. */
const byHand = `
set -eu
. /etc/os-release
export DEBIAN_FRONTEND=noninteractive
get() { /usr/lib/apt/apt-helper download-file "${mirror}/$1" "$2"; }
case $VERSION_CODENAME in bookworm) nvidia=debian12 ;; *) nvidia=debian13 ;; esac
install -d -m 755 /etc/apt/keyrings
get docker/debian/gpg /etc/apt/keyrings/lab.asc
chmod 644 /etc/apt/keyrings/lab.asc
{
  echo "deb [signed-by=/etc/apt/keyrings/lab.asc] ${mirror}/docker/debian $VERSION_CODENAME stable"
  echo "deb [signed-by=/etc/apt/keyrings/lab.asc] ${mirror}/toolkit/stable/deb/amd64 /"
  echo "deb [signed-by=/etc/apt/keyrings/lab.asc] ${mirror}/nvidia/$nvidia/x86_64 /"
} > /etc/apt/sources.list.d/lab.list
apt-get -q update
apt-get -q -y --no-install-recommends install nvidia-driver-pinning-580
apt-get -q -y --no-install-recommends install nvidia-open docker-ce docker-ce-cli containerd.io
modprobe nvidia
apt-get -q -y --no-install-recommends install nvidia-container-toolkit
mkdir -p /etc/docker
[ "$nvidia" = debian12 ] || echo '{"features": {"cdi": true}, "experimental": true}' > /etc/docker/daemon.json
systemctl restart docker
docker pull -q ${image}
`;
