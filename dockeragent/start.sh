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

# The agent remembers the server's addresses below ~/.config; where it cannot, each connection costs it seconds.
for HOME in "${HOME:-/home/agent}" /azp/home; do
  if mkdir -p "$HOME/.config" "$HOME/.local/share" 2>/dev/null && [ -w "$HOME/.config" ]; then break; fi
done
export HOME

# Not run.sh, and nothing in between: the stop signal (SIGINT) must reach the listener, which then ends its session with
# the server; without that the name stays taken for minutes. In the background it would be started with SIGINT ignored.
exec bin/Agent.Listener run --once
