import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';

import { digest } from './digest.ts';
import { docker } from './engine.ts';
import { type Release, inState } from './paths.ts';
import { run } from './run.ts';
import { say } from './say.ts';

const underway = new Map<string, Promise<string>>();

/** Builds one base image unless this recipe is already built; returns its tag. */
export function ensureBase(recipe: BaseRecipe): Promise<string> {
  const tag = `azp-fleet-lab/${recipe.name}:${digest(recipe)}`;
  const made = underway.get(tag) ?? make(recipe, tag);
  underway.set(tag, made);
  return made;
}

async function make(recipe: BaseRecipe, tag: string): Promise<string> {
  if (await hasImage(tag)) return tag;
  say(`building ${recipe.name} from Debian's archive (half a minute; with a large program, two)`);
  const tar = await bootstrap(recipe);
  await docker(['import', tar, tag]);
  rmSync(tar);
  say(`built ${recipe.name}`);
  return tag;
}

export async function hasImage(tag: string): Promise<boolean> {
  return (await docker(['image', 'inspect', '--format', 'ok', tag], { allowFailure: true })).code === 0;
}

async function bootstrap(recipe: BaseRecipe): Promise<string> {
  const folder = inState('bases');
  mkdirSync(folder, { recursive: true });
  const tar = `${folder}/${recipe.name}.tar`;
  const part = `${folder}/${recipe.name}.part.tar`;
  if (existsSync(part)) rmSync(part);
  const options = [
    ['--variant=minbase', '--mode=root', `--include=${recipe.packages.join(',')}`],
    ['--aptopt=Acquire::Languages "none"', '--dpkgopt=force-unsafe-io'],
    ['--dpkgopt=path-exclude=/usr/share/man/*', '--dpkgopt=path-exclude=/usr/share/locale/*'],
    ['--dpkgopt=path-exclude=/usr/share/doc/*', '--dpkgopt=path-include=/usr/share/doc/*/copyright'],
    ['--format=tar', recipe.suite, part, `deb http://deb.debian.org/debian ${recipe.suite} main`],
  ].flat();
  await run('mmdebstrap', options, { timeoutMs: 3_600_000, env: { TMPDIR: folder } });
  renameSync(part, tar);
  return tar;
}

/** A root file system made by mmdebstrap. */
export interface BaseRecipe {
  readonly name: string;
  readonly suite: Release;
  readonly packages: readonly string[];
}

/** Packages of a server after Debian's installer: no Docker, no Python, no curl, no gnupg. */
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

/** A base that looks like another system also has that system's package manager. */
export const dressedBase = (
  name: string,
  { of, packages }: { readonly of: Release; readonly packages: readonly string[] },
): BaseRecipe => ({
  name: `host-base-${name}`,
  suite: of,
  packages: [...hostPackages, ...packages],
});

/** Dropbear instead of OpenSSH, as on small machines, without an sftp-server; ssh-keygen makes its host keys. */
export const dropbearBase: BaseRecipe = {
  name: 'dropbear-base',
  suite: 'bookworm',
  packages: hostPackages.flatMap((name) =>
    name === 'openssh-server' ? ['dropbear-bin', 'openssh-client', 'socat'] : [name],
  ),
};

/** Debian that looks like an Ubuntu with CUDA: the vendor's images need the internet. */
export const cudaBase: BaseRecipe = { name: 'cuda-base', suite: 'trixie', packages: cudaPackages };

/** Debian's Azure command line with its extension for Azure DevOps; 1.7 GB, so only for the test that runs it. */
export const azBase: BaseRecipe = {
  name: 'az-base',
  suite: 'bookworm',
  packages: ['azure-cli', 'python3-azext-devops'],
};

/** Debian's Chromium, only for the test that opens our page in it. */
export const chromiumBase: BaseRecipe = {
  name: 'chromium-base',
  suite: 'bookworm',
  packages: ['chromium', 'fonts-dejavu-core'],
};
