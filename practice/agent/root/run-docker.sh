#!/bin/bash
# Stand-in for run-docker.sh. Real: codes 3 and 4 (updating) start the listener again, 2 (retryable) too; others end it.
DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [ "$(id -u)" -eq 0 ] && [ -z "$AGENT_ALLOW_RUNASROOT" ]; then
  echo "Must not run interactively with sudo"
  exit 1
fi
while true; do
  "$DIR"/bin/Agent.Listener run "$@"
  code=$?
  case "$code" in
    2 | 3 | 4) "$DIR"/bin/pause 5 ;;
    *) exit "$code" ;;
  esac
done
