/**
 * Ends all that lives of a user, and all that could bring it back: `sh -c SCRIPT sh LOGIN UID`. Exits with 0 only when
 * nothing of it was left at the last look. What a job can have left: a user manager (`loginctl enable-linger`), jobs of
 * cron and at, processes below any of these, shared memory, files. A container of somebody else may use the same number: a
 * process in a name space of its own whose cgroup only a container engine can have made is not the user's.
 */
export const vacateScript = `user=$1 uid=$2
case $uid in '' | *[!0-9]* | ? | ??) echo "not the uid of an agent: $uid"; exit 2 ;; esac
linger=/var/lib/systemd/linger/$user
contained() {
  [ "$(readlink "/proc/$1/ns/pid")" != "$(readlink /proc/1/ns/pid)" ] || return 1
  ! grep -qE "/user[.]slice/|/azp-fleet-agent-" "/proc/$1/cgroup" || return 1
  grep -qE '(docker|crio|libpod|cri-containerd)[-/][0-9a-f]{64}|/kubepods' "/proc/$1/cgroup"
}
dead() {
  [ ! -e "/proc/$1/stat" ] || { grep -qE '^State:[[:blank:]]Z' "/proc/$1/status" && [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -le 1 ]; }
}
living() {
  grep -lsE "^Uid:.*[[:blank:]]$uid([[:blank:]]|\\$)" /proc/[0-9]*/status | cut -d / -f 3 | while read -r pid; do
    dead "$pid" || contained "$pid" || echo "$pid"
  done 2>/dev/null
}
end() {
  tries=100
  while pids=$(living); [ -n "$pids" ]; do
    if [ "$tries" -eq 0 ]; then
      echo "$pids" | head -n 5 | while read -r pid; do
        echo "$pid $(sed -n 's/^State:[[:blank:]]*//p' "/proc/$pid/status") $(cat "/proc/$pid/comm")"
      done 2>/dev/null
      exit 3
    fi
    tries=$((tries - 1))
    echo "$pids" | xargs kill -KILL 2>/dev/null
    sleep 0.1
  done
}
end
loginctl disable-linger "$user" >/dev/null 2>&1
rm -f "$linger" "/var/spool/cron/crontabs/$user" "/var/spool/cron/tabs/$user" "/var/spool/cron/$user"
find /var/spool/cron /var/spool/at -xdev -type f -uid "$uid" -delete 2>/dev/null
systemctl stop "user@$uid.service" "user-$uid.slice" >/dev/null 2>&1
end
if [ -e "$linger" ]; then echo "$linger is still there"; exit 3; fi
ipc() {
  awk -v uid="$uid" -v at="$3" 'NR > 1 && ($at == uid || $(at + 2) == uid) { print $2 }' "/proc/sysvipc/$1" |
    while read -r id; do ipcrm "$2" "$id"; done
} 2>/dev/null
ipc shm -m 8
ipc msg -q 8
ipc sem -s 5
find /tmp /var/tmp /dev/shm /dev/mqueue -xdev -mindepth 1 -depth -uid "$uid" -delete 2>/dev/null
exit 0`;
