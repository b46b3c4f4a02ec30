#!/bin/sh
# Runs while the image is built: adds what the agent needs and the base lacks, and the user that jobs run as.
# A base that has everything needs no network.
set -eu

mirror=${APT_MIRROR:-}
aside=/tmp/azp-fleet/sources.d
missing=

need_command() { # COMMAND PACKAGE
  command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need_library() { # SONAME-PREFIX PACKAGE
  ldconfig -p | grep -qF "$1" || missing="$missing $2"
}

need_file() { # PATH PACKAGE
  [ -e "$1" ] || missing="$missing $2"
}

# Another host for the archives of Ubuntu and Debian; their paths stay.
use_mirror() {
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    sed -E -i "s#https?://((archive|security|ports)\.ubuntu\.com|(deb|security)\.debian\.org)#$mirror#" "$file"
  done
}

# The vendor's CUDA repository of a CUDA base is of no use here and out of reach in a closed network.
hide_cuda_repository() {
  mkdir -p "$aside"
  for file in /etc/apt/sources.list.d/cuda*; do
    [ -e "$file" ] && mv "$file" "$aside/"
  done
  return 0
}

show_cuda_repository() {
  for file in "$aside"/*; do
    [ -e "$file" ] && mv "$file" /etc/apt/sources.list.d/
  done
  return 0
}

# ICU carries its version in the package's name.
newest_icu() {
  apt-cache search --names-only '^libicu[0-9]+$' | cut -d' ' -f1 | sort -V | tail -n 1
}

# Newer distributions have the client apart from the engine.
docker_client() {
  if apt-cache show docker-cli >/dev/null 2>&1; then echo docker-cli; else echo docker.io; fi
}

install_missing() {
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "azp-fleet: this base lacks$missing and has no apt-get: use an Ubuntu or Debian base, or add them to it" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  [ -z "$mirror" ] || use_mirror
  hide_cuda_repository
  apt-get update -q
  packages=
  for package in $missing; do
    case $package in
      libicu) package=$(newest_icu) ;;
      docker) package=$(docker_client) ;;
    esac
    packages="$packages $package"
  done
  # shellcheck disable=SC2086 # a list of package names
  apt-get install -q -y --no-install-recommends $packages
  rm -rf /var/lib/apt/lists/*
  show_cuda_repository
}

need_file /usr/bin/tini tini
need_command git git
need_command curl curl
need_file /etc/ssl/certs/ca-certificates.crt ca-certificates
need_library libicuuc.so libicu
need_library libssl.so libssl3
need_library libgssapi_krb5.so libgssapi-krb5-2
if [ "${GRAPHICS:-0}" = 1 ]; then
  need_library libEGL.so.1 libegl1
  need_library libGL.so.1 libgl1
  need_library libGLESv2.so.2 libgles2
  need_library libOpenGL.so.0 libopengl0
  need_library libvulkan.so.1 libvulkan1
  need_library libXext.so.6 libxext6
fi
[ "${JOBS_SUDO:-0}" != 1 ] || need_command sudo sudo
[ "${DOCKER_CLIENT:-0}" != 1 ] || need_command docker docker
[ -z "$missing" ] || install_missing

getent group agent >/dev/null || groupadd --gid 4000 agent
getent passwd agent >/dev/null || useradd --uid 4000 --gid 4000 --create-home --shell /bin/bash agent
[ "$(id -u agent):$(id -g agent)" = 4000:4000 ] || {
  echo 'azp-fleet: this base has a user agent of its own: it must have uid and gid 4000' >&2
  exit 1
}
install -d -o agent -g agent -m 0755 /azp
# The agent remembers the server's addresses below ~/.config, which must be there.
home=$(getent passwd agent | cut -d: -f6)
[ "$home" = / ] || install -d -o agent -g agent -m 0755 "$home" "$home/.config" "$home/.local" "$home/.local/share"
if [ "${JOBS_SUDO:-0}" = 1 ]; then
  echo 'agent ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/azp-fleet
  chmod 0440 /etc/sudoers.d/azp-fleet
fi
