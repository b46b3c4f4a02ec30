import { failFunction } from '../../base/shell.ts';

/** Where the specification is written when no service of the package does it. */
export const cdiFolder = '/etc/cdi';

/**
 * Writes the CDI specification anew. From toolkit 1.18 on a service of the package owns it (and makes it at boot);
 * a second file with the same device names would make all of them unresolvable, so then only that service writes.
 */
export const cdiScript = `${failFunction}
if systemctl cat nvidia-cdi-refresh.service >/dev/null 2>&1; then
  systemctl restart nvidia-cdi-refresh.service || fail 'the CDI specification cannot be written' \\
    'nvidia-cdi-refresh.service ends well' "$(journalctl -u nvidia-cdi-refresh.service -n 5 --no-pager -o cat)" \\
    'see whether nvidia-smi works on the host'
else
  install -d -m 755 /etc/cdi
  nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml || fail 'the CDI specification cannot be written' \\
    'nvidia-ctk cdi generate ends well' 'the messages above' 'see whether nvidia-smi works on the host'
fi
grep -qs 'nvidia\\.com/gpu' /etc/cdi/*.yaml /etc/cdi/*.json /var/run/cdi/*.yaml /var/run/cdi/*.json ||
  fail 'no CDI specification describes the GPUs' 'nvidia.com/gpu in /var/run/cdi or /etc/cdi' 'nothing' \\
  'run nvidia-ctk cdi generate on the host and look at its output'`;
