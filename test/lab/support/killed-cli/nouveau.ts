import type { LabHost } from '../../../../practice/lab/host.ts';

/**
 * Makes nouveau claim the GPUs at each boot, unless the initramfs blacklists it; the NVIDIA module is not loaded beside
 * it. update-initramfs includes /etc/modprobe.d, as the real one does.
 */
export async function installNouveau(host: LabHost): Promise<void> {
  await host.exec(`set -e
cat >/usr/local/sbin/update-initramfs <<'END'
#!/bin/sh
grep -qs '^blacklist nouveau' /etc/modprobe.d/azp-fleet-nouveau.conf && touch /boot/without-nouveau
:
END
chmod 755 /usr/local/sbin/update-initramfs
cat >/etc/systemd/system/lab-nouveau.service <<'END'
[Unit]
DefaultDependencies=no
Before=sysinit.target nvidia-boot.service
ConditionPathExists=!/boot/without-nouveau

[Service]
Type=oneshot
ExecStart=/bin/mkdir -p /sys/module/nouveau

[Install]
WantedBy=sysinit.target
END
mkdir -p /etc/systemd/system/nvidia-boot.service.d
printf '[Unit]\\nConditionPathExists=!/sys/module/nouveau\\n' >/etc/systemd/system/nvidia-boot.service.d/nouveau.conf
systemctl enable -q lab-nouveau.service
systemctl start lab-nouveau.service`);
}
