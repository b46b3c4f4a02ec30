/**
 * sudo and a user without rights, for hosts of `any-user-host.ts`. `ROOT/sudo` says what sudo requires: `free`, `tty`, `outsider`
 * (asked and then refused); any other text is the password.
 */
export const ownSudo = {
  id: `[ "$*" != -u ] || { echo 1000; exit; }
exec /usr/bin/id "$@"
`,
  sudo: `n= prompt='[sudo] password for ann: '
while :; do
  case $1 in -n) n=yes;; -H|-S) ;; -p) prompt=$2; shift;; *) break;; esac
  shift
done
wants=$(cat ROOT/sudo)
run() { SUDO_UID=1000; export SUDO_UID; exec "$@"; }
[ "$wants" != free ] || run "$@"
[ "$wants" != tty ] || { echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1; }
[ -z "$n" ] || { echo 'sudo: a password is required' >&2; exit 1; }
for attempt in 1 2 3; do
  printf %s "$prompt" >&2
  IFS= read -r given || { echo 'sudo: no password was provided' >&2; exit 1; }
  [ "$wants" != outsider ] || { echo 'ann is not in the sudoers file.' >&2; exit 1; }
  [ "$given" != "$wants" ] || run "$@"
  echo 'Sorry, try again.' >&2
done
echo 'sudo: 3 incorrect password attempts' >&2
exit 1
`,
} as const;
