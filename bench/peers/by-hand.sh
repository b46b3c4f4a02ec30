# The commands of a fresh host by hand, as root; the files come as two archives on standard input.
# $packages: NAME=VERSION; $holds: names.
set -e
tar -xzif - -C /
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q -y --no-install-recommends install $packages
apt-mark hold $holds
modprobe -a nvidia nvidia_uvm
systemctl restart docker
systemctl daemon-reload
systemctl enable --now azp-fleet-manager
until grep -q '"state": *"idle"' /run/azp-fleet/status.json; do sleep 0.1; done
docker run --rm --gpus all --entrypoint nvidia-smi "$(docker images -q azp-fleet/agent | head -1)"
