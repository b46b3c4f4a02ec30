// Faults of a lab host, as scripts for a root shell on it.
import { gpuFolders } from '../../../practice/lab/gpus.ts';

/** Runs a script where the manager sees the file systems. */
const inManager = (script: string): string =>
  `nsenter -m -t $(systemctl show -p MainPID --value azp-fleet-manager) sh -ec '${script}'`;

export const fullDisk = {
  begin: inManager('mount -t tmpfs -o size=64m tmpfs /var/lib/docker; fallocate -l 63m /var/lib/docker/fill'),
  end: inManager('umount /var/lib/docker'),
};

/** A fault of nvidia-smi that ends with the next boot. */
export const untilBoot = (mode: string): string => `mount -t tmpfs tmpfs ${gpuFolders.control}
: >${gpuFolders.control}/processes
echo '${mode}' >${gpuFolders.control}/mode`;

const hook = '/usr/bin/nvidia-container-runtime-hook';

/** dockerd was started when there was no hook, and looks for it only then. */
export const withoutHook = `mv ${hook} /root/hook; systemctl restart docker; mv /root/hook ${hook}`;

/** A clock that is off, until a time service is enabled. The hosts of a lab have one clock: both are stand-ins. */
export const wrongClock = `cat >/usr/local/bin/date <<'END'
#!/bin/sh
exec /usr/bin/date -d '+10 minutes' "$@"
END
chmod 755 /usr/local/bin/date
cat >/etc/systemd/system/lab-time.service <<'END'
[Service]
Type=oneshot
ExecStart=/bin/rm -f /usr/local/bin/date
[Install]
WantedBy=multi-user.target
END
mkdir -p /etc/systemd/ntp-units.d
echo lab-time.service >/etc/systemd/ntp-units.d/lab.list
systemctl daemon-reload`;
