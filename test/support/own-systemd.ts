/**
 * A stand-in of systemd for hosts of `own-sshd.ts`: a unit runs detached in a separate session, has an
 * InvocationID, stays loaded after it has ended (RemainAfterExit), is not created again while it is loaded, and is
 * stopped at its limit. While the file ROOT/deaf exists, no call
 * is answered; ROOT/unanswered has a letter for each such call.
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
# Reads the unit once for all its properties: \`r\`, and the matching state.
observe() {
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
    observe
    case $want in *' Result '*) echo "Result=$r";; esac
    case $want in *' InvocationID '*) echo "InvocationID=$(cat "$d/invocation" 2>/dev/null)";; esac
    case $want in *' SubState '*) echo "SubState=$sub";; esac;;
  stop)
    d=ROOT/units/$2
    [ -d "$d" ] || exit 5
    observe
    [ -f "$d/result" ] || kill -TERM "-$(cat "$d/pid")" 2>/dev/null
    # A failed unit stays until it is reset.
    [ "$r" != success ] || rm -rf "$d";;
  reset-failed)
    d=ROOT/units/$2
    [ -d "$d" ] || exit 1
    observe
    [ "$r" = success ] || rm -rf "$d";;
  *) echo "the stand-in of systemctl does not know $1" >&2; exit 64;;
esac
`,
} as const;
