#!/bin/bash
# Stand-in for the Azure Pipelines agent's run.sh. Real: the arguments, that the listener is a foreground child and no
# signal is passed on to it (so a caller must signal the process group or the listener), that exit
# code 4 (updating in once mode) starts it again after a pause. Stand-in: the pause is scaled.
DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [ "$(id -u)" -eq 0 ] && [ -z "$AGENT_ALLOW_RUNASROOT" ]; then
  echo "Must not run interactively with sudo"
  exit 1
fi
"$DIR"/bin/Agent.Listener run "$@"
code=$?
if [ "$code" -eq 4 ]; then
  "$DIR"/bin/pause 20
  "$DIR"/bin/Agent.Listener run "$@"
  code=$?
fi
exit "$code"
