#!/bin/sh
# The container's only job: one job. The manager puts the registration's three files here before it starts the container.
set -eu
cd /azp
for file in .agent .credentials .credentials_rsaparams; do
  if [ ! -r "$file" ]; then
    echo "azp-fleet: $file is missing: this container is started by azp-fleet-manager, which registers the agent" >&2
    exit 78
  fi
done

# A stop is for the listener: it ends its session with the server, without which the name stays taken for minutes.
# run.sh would die of the signal and pass nothing on.
stop_listener() {
  found=
  for process in /proc/[0-9]*; do
    case $(tr '\0' ' ' 2>/dev/null <"$process/cmdline" || true) in
      *Agent.Listener*) kill -TERM "${process#/proc/}" 2>/dev/null && found=yes ;;
    esac
  done
  [ -n "$found" ] || kill -TERM "$agent" 2>/dev/null || true
}

./run.sh --once &
agent=$!
trap stop_listener TERM INT
while :; do
  code=0
  wait "$agent" || code=$?
  # A signal ends the wait too: then the agent is still there.
  kill -0 "$agent" 2>/dev/null || exit "$code"
done
