/**
 * systemd as far as our changes use it, for hosts of `own-sshd.ts`: a unit runs detached in a session of its own, has an
 * InvocationID, stays loaded when it has ended (RemainAfterExit), is not made a second time while it is loaded, and is
 * stopped at its limit. While there is a file ROOT/deaf, nothing
 * is answered; ROOT/unanswered has a letter for each question.
 */
export const ownSystemd = {
  'systemd-run': `limit=infinity
while :; do
  case $1 in
    --unit=*) unit=\${1#--unit=};;
    -p) shift; case $1 in RuntimeMaxSec=*) limit=\${1#*=};; esac;;
    --*) ;;
    *) break;;
  esac
  shift
done
d=ROOT/units/$unit
mkdir -p ROOT/units
mkdir "$d" 2>/dev/null || {
  echo "Failed to start transient service unit: Unit $unit was already loaded or has a fragment file." >&2
  exit 1
}
INVOCATION_ID=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')
export INVOCATION_ID
echo "$INVOCATION_ID" >"$d/invocation"
# The unit's own descriptors: what holds a pipe of ours would keep the session open.
setsid /bin/sh -c 'd=$1 limit=$2; shift 2
timeout "$limit" "$@"
case $? in 0) echo success;; 124) echo timeout;; *) echo exit-code;; esac >"$d/result.new"
mv "$d/result.new" "$d/result"' - "$d" "$limit" "$@" </dev/null >/dev/null 2>&1 &
echo "$!" >"$d/pid.new"
mv "$d/pid.new" "$d/pid"
`,
  systemctl: `
# Looked at once for all that is told of it: \`r\`, and the state that goes with it.
look() {
  r=success sub=running
  if [ ! -d "$d" ]; then sub=dead
  elif [ ! -f "$d/result" ] && [ -f "$d/pid" ] && ! kill -0 "$(cat "$d/pid")" 2>/dev/null && [ ! -f "$d/result" ]; then r=signal
  elif [ -f "$d/result" ]; then read -r r <"$d/result"; sub=exited; fi
  [ "$r" = success ] || sub=failed
}
if [ -e ROOT/deaf ]; then
  printf x >>ROOT/unanswered
  echo "Failed to connect to bus: Connection refused" >&2
  exit 1
fi
case $1 in
  show)
    shift
    want=' '
    while [ "$1" = -p ]; do want="$want$2 "; shift 2; done
    d=ROOT/units/$1
    look
    case $want in *' Result '*) echo "Result=$r";; esac
    case $want in *' InvocationID '*) echo "InvocationID=$(cat "$d/invocation" 2>/dev/null)";; esac
    case $want in *' SubState '*) echo "SubState=$sub";; esac;;
  stop)
    d=ROOT/units/$2
    [ -d "$d" ] || exit 5
    look
    [ -f "$d/result" ] || kill -TERM "-$(cat "$d/pid")" 2>/dev/null
    # A failed unit stays until it is reset.
    [ "$r" != success ] || rm -rf "$d";;
  reset-failed)
    d=ROOT/units/$2
    [ -d "$d" ] || exit 1
    look
    [ "$r" = success ] || rm -rf "$d";;
  *) echo "the stand-in of systemctl does not know $1" >&2; exit 64;;
esac
`,
} as const;
