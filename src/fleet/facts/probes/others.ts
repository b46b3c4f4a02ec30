import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

/** Reads other users of the host: logins on a terminal, and GPU processes outside containers. */
export const othersProbe: FactProbe<Omit<Facts['others'], 'containers'>> = {
  name: 'others',
  script: () => `
for session in /run/systemd/sessions/*; do
  [ -f "$session" ] || continue
  user='' tty='' class='' state=''
  while IFS='=' read -r key value; do
    case $key in
      USER) user=$value ;;
      TTY) tty=$value ;;
      CLASS) class=$value ;;
      STATE) state=$value ;;
    esac
  done <"$session"
  if [ "$class" = user ] && [ "$state" != closing ] && [ -n "$tty" ]; then echo "login $user $tty"; fi
done
if [ -e /dev/nvidia0 ]; then
  find /proc/[0-9]*/fd -lname '/dev/nvidia[0-9]*' 2>/dev/null | while IFS=/ read -r _ _ pid _; do
    [ "$pid" != "\${last:-}" ] || continue
    last=$pid
    if grep -Eq 'docker|containerd|libpod|kubepods' "/proc/$pid/cgroup" 2>/dev/null; then continue; fi
    if read -r name 2>/dev/null <"/proc/$pid/comm"; then echo "gpu-process $pid $name"; fi
  done
fi
:`,
  parse: ({ stdout }) => {
    const lines = new KeyedLines(stdout);
    return {
      logins: [...new Set(lines.all('login'))].sort(),
      gpuProcesses: lines.all('gpu-process').filter((line) => !services.test(line)),
    };
  },
};

/** The driver's daemons, and a display manager without a login; a desktop session is a login. */
const services = / (nvidia-.*|nv-fabricmanage.*|nv-hostengine|Xorg|Xwayland|gnome-shell|gdm.*|sddm.*)$/;
