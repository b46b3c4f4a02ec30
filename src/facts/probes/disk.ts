import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** Free bytes for unprivileged users where packages, images and the manager's state go. */
export const diskProbe: FactProbe<Facts['disk']> = {
  name: 'disk',
  script: () => `for path in / /boot /opt /var /var/lib/docker; do
  if [ -d "$path" ]; then set -- "$@" "$path"; fi
done
printf '%s\\n' "$@"
df -Pk "$@"`,
  parse: ({ stdout }) => {
    const lines = stdout.split('\n').filter(Boolean);
    const header = lines.findIndex((line) => line.startsWith('Filesystem'));
    if (header < 0) return {};
    return Object.fromEntries(
      lines.slice(0, header).flatMap((path, index) => {
        const available = / (\d+) +-?\d+% /.exec(lines[header + 1 + index] ?? '')?.[1];
        return available === undefined ? [] : [[path, Number(available) * 1024]];
      }),
    );
  },
};
