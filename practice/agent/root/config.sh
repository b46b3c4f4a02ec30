#!/bin/bash
# Stand-in for config.sh. Real: its arguments, the same as VSTS_AGENT_INPUT_<ARGUMENT>, the three files it writes,
# "remove". Stand-in: none of the checks of libraries.
DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [ "$(id -u)" -eq 0 ] && [ -z "$AGENT_ALLOW_RUNASROOT" ]; then
  echo "Must not run with sudo"
  exit 1
fi
if [ "$1" = remove ]; then
  shift
  exec "$DIR"/bin/Agent.Listener remove "$@"
fi
exec "$DIR"/bin/Agent.Listener configure "$@"
