import type { Release } from './paths.ts';

/** A root file system made by mmdebstrap. */
export interface BaseRecipe {
  readonly name: string;
  readonly suite: Release;
  readonly packages: readonly string[];
}

/** What a server has after Debian's installer, and no more: no Docker, no Python, no curl, no gnupg. */
const hostPackages = (
  'systemd systemd-sysv dbus libpam-systemd openssh-server sudo ca-certificates ' +
  'iproute2 iptables procps kmod xz-utils gzip less netbase tzdata'
).split(' ');

/** What the agent image installs on top of its CUDA base, so that a build inside the lab downloads nothing. */
const cudaPackages = (
  'ca-certificates curl git jq tini xz-utils unzip zip procps sudo netbase openssh-client libicu76 libssl3t64 ' +
  'libkrb5-3 libgssapi-krb5-2 zlib1g locales tzdata'
).split(' ');

export const hostBase = (suite: Release): BaseRecipe => ({
  name: `host-base-${suite}`,
  suite,
  packages: hostPackages,
});

/** What is dressed up as another system has that system's package manager, too. */
export const dressedBase = (
  name: string,
  { of, packages }: { readonly of: Release; readonly packages: readonly string[] },
): BaseRecipe => ({
  name: `host-base-${name}`,
  suite: of,
  packages: [...hostPackages, ...packages],
});

/** Dropbear in OpenSSH's place, as on small machines, without an sftp-server; ssh-keygen makes its host keys. */
export const dropbearBase: BaseRecipe = {
  name: 'dropbear-base',
  suite: 'bookworm',
  packages: hostPackages.flatMap((name) =>
    name === 'openssh-server' ? ['dropbear-bin', 'openssh-client', 'socat'] : [name],
  ),
};

/** Debian dressed up as an Ubuntu with CUDA: the vendor's images cannot be had without the internet. */
export const cudaBase: BaseRecipe = { name: 'cuda-base', suite: 'trixie', packages: cudaPackages };

/** Debian's Azure command line with its extension for Azure DevOps; 1.7 GB, so only for the test that runs it. */
export const azBase: BaseRecipe = {
  name: 'az-base',
  suite: 'bookworm',
  packages: ['azure-cli', 'python3-azext-devops'],
};
