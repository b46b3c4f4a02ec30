import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBase, hostBase } from './base-images.ts';
import type { Content, Deb, DebFile } from './deb.ts';
import { docker } from './engine.ts';
import { inState, network, type Release } from './paths.ts';
import { run } from './run.ts';

const distribution = { bookworm: 'debian.12~bookworm', trixie: 'debian.13~trixie' } as const satisfies Record<
  Release,
  string
>;
const sources = {
  bookworm: ['docker.io', 'containerd', 'runc', 'tini'],
  trixie: ['docker.io', 'docker-cli', 'containerd', 'runc', 'tini'],
} as const;

/** Returns Debian's own Docker under the vendor's package names: the engine in them is real, with its true version. */
export async function dockerPackages(
  release: Release,
): Promise<{ readonly version: string; readonly debs: readonly Deb[] }> {
  const tree = await unpacked(release);
  const version = upstream(tree, 'docker.io');
  const full = `5:${version}-1~${distribution[release]}`;
  return {
    version,
    debs: [
      {
        name: 'docker-ce-cli',
        version: full,
        description: 'Docker client',
        conflicts: ['docker.io', 'docker-cli'],
        files: programs(tree, ['docker']),
      },
      containerd(tree, release),
      engine(tree, full),
      plugin('buildx', `0.13.1-1~${distribution[release]}`),
      plugin('compose', `2.26.1-1~${distribution[release]}`),
    ],
  };
}

/** Returns a package with a file that is no plugin: Debian's packages have the same path, and dpkg fails because of it. */
function plugin(name: string, version: string): Deb {
  return {
    name: `docker-${name}-plugin`,
    version,
    description: 'stand-in without a plugin in it',
    files: [
      {
        path: `/usr/libexec/docker/cli-plugins/docker-${name}`,
        content: { text: 'no plugin, but where it would be\n' },
      },
    ],
  };
}

function engine(tree: string, version: string): Deb {
  return {
    name: 'docker-ce',
    version,
    description: 'Docker Engine',
    depends: ['docker-ce-cli', 'containerd.io', 'iptables', 'libsystemd0', ...devicemapper(tree)],
    conflicts: ['docker.io'],
    files: [
      ...programs(tree, ['dockerd', 'docker-proxy']),
      {
        path: '/usr/bin/docker-init',
        content: { copy: join(tree, 'usr/bin/tini-static') },
        executable: true,
      },
      unit(tree, 'docker.service'),
      unit(tree, 'docker.socket'),
    ],
    scripts: {
      postinst: [
        'getent group docker > /dev/null || groupadd --system docker',
        ...started('docker.socket', 'docker.service'),
      ].join('\n'),
      prerm: 'if [ "$1" = remove ]; then systemctl stop docker.service docker.socket || true; fi',
    },
  };
}

function containerd(tree: string, release: Release): Deb {
  return {
    name: 'containerd.io',
    version: `${upstream(tree, 'containerd')}-1~${distribution[release]}`,
    description: 'containerd and runc',
    depends: ['libseccomp2'],
    conflicts: ['containerd', 'runc'],
    provides: ['containerd', 'runc'],
    files: [
      ...programs(tree, ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc']),
      unit(tree, 'containerd.service'),
    ],
    scripts: { postinst: started('containerd.service').join('\n') },
  };
}

const started = (...units: readonly string[]): string[] => [
  'systemctl daemon-reload || true',
  ...units.map((name) => `deb-systemd-helper enable ${name} > /dev/null || true`),
  'if [ "$1" = configure ] && [ -n "$2" ]; then action=restart; else action=start; fi',
  ...units.map((name) => `deb-systemd-invoke "$action" ${name} || true`),
];

const devicemapper = (tree: string): string[] => {
  const depends = readFileSync(join(tree, 'docker.io.depends'), 'utf8');
  return depends.includes('libdevmapper1.02.1') ? ['libdevmapper1.02.1'] : [];
};

function programs(tree: string, names: readonly string[]): DebFile[] {
  return names.map((name) => {
    const path =
      [`usr/sbin/${name}`, `usr/bin/${name}`].find((each) => existsSync(join(tree, each))) ??
      `usr/bin/${name}`;
    return { path: `/usr/bin/${name}`, content: { copy: join(tree, path) }, executable: true };
  });
}

function unit(tree: string, name: string): DebFile {
  const path =
    [`usr/lib/systemd/system/${name}`, `lib/systemd/system/${name}`].find((each) =>
      existsSync(join(tree, each)),
    ) ?? name;
  const content: Content = {
    text: readFileSync(join(tree, path), 'utf8').replaceAll('/usr/sbin/dockerd', '/usr/bin/dockerd'),
  };
  return { path: `/lib/systemd/system/${name}`, content };
}

function upstream(tree: string, name: string): string {
  return readFileSync(join(tree, `${name}.version`), 'utf8').split(/[+~-]/)[0] ?? '';
}

/** Downloads Debian's packages inside a container of the release and unpacks them all into one folder. */
async function unpacked(release: Release): Promise<string> {
  const tree = inState('debian-docker', release);
  if (existsSync(tree)) return tree;
  const part = `${tree}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  const fetch = `apt-get -q update > /dev/null && cd /out && apt-get -q -o APT::Sandbox::User=root download ${sources[release].join(' ')}`;
  const base = await ensureBase(hostBase(release));
  await docker(['run', '--rm', '--network', network.name, '-v', `${part}:/out`, base, 'sh', '-c', fetch]);
  for (const file of readdirSync(part).filter((name) => name.endsWith('.deb'))) {
    const name = file.split('_')[0] ?? '';
    await run('dpkg-deb', ['-x', join(part, file), part]);
    for (const field of ['version', 'depends']) {
      await run('/bin/sh', [
        '-c',
        'dpkg-deb -f "$1" "$2" > "$3"',
        'sh',
        join(part, file),
        field,
        join(part, `${name}.${field}`),
      ]);
    }
    rmSync(join(part, file));
  }
  renameSync(part, tree);
  return tree;
}
