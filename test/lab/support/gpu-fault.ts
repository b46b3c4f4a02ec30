import { gpuFolders } from '../../../practice/lab/gpus.ts';
import type { LabHost } from '../../../practice/lab/host.ts';

/** The first GPU is gone from the next boot on. */
export async function breakAtBoot(host: LabHost): Promise<void> {
  await host.exec(`cat >/etc/systemd/system/lab-fault.service <<'UNIT'
[Unit]
DefaultDependencies=no
Before=docker.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo "missing 0" >${gpuFolders.control}/mode'
[Install]
WantedBy=sysinit.target
UNIT
systemctl daemon-reload
systemctl enable lab-fault.service`);
}

/** Ends what `breakAtBoot` began. */
export async function repair(host: LabHost): Promise<void> {
  await host.exec('systemctl disable lab-fault.service');
  await host.setGpuFaults([]);
}
