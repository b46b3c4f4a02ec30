import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { inState } from './paths.ts';
import { run } from './run.ts';

/** The source of the content of an installed file. */
export type Content =
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly copy: string }
  | { readonly link: string };

export interface DebFile {
  /** Absolute, on the machine it is installed on. */
  readonly path: string;
  readonly content: Content;
  readonly executable?: boolean;
}

export interface Deb {
  readonly name: string;
  readonly version: string;
  readonly architecture?: 'amd64' | 'all';
  readonly description: string;
  readonly depends?: readonly string[];
  readonly conflicts?: readonly string[];
  readonly provides?: readonly string[];
  readonly files?: readonly DebFile[];
  /** Paths of configuration files, which dpkg keeps when the package is removed and not purged. */
  readonly conffiles?: readonly string[];
  /** Bodies of maintainer scripts, run with `sh -e`. */
  readonly scripts?: Readonly<Partial<Record<'preinst' | 'postinst' | 'prerm' | 'postrm', string>>>;
}

/** Builds one package into `folder`, lightly compressed: the lab unpacks it more often than it builds it. */
export async function buildDeb(deb: Deb, folder: string): Promise<string> {
  mkdirSync(inState('tmp'), { recursive: true });
  const tree = mkdtempSync(inState('tmp', 'deb-'));
  chmodSync(tree, 0o755);
  try {
    for (const file of deb.files ?? []) putFile(tree, file);
    mkdirSync(join(tree, 'DEBIAN'), { recursive: true });
    writeFileSync(join(tree, 'DEBIAN/control'), control(deb));
    if (deb.conffiles !== undefined)
      writeFileSync(join(tree, 'DEBIAN/conffiles'), deb.conffiles.map((path) => `${path}\n`).join(''));
    for (const [name, body] of Object.entries(deb.scripts ?? {})) {
      writeFileSync(join(tree, 'DEBIAN', name), `#!/bin/sh\nset -e\n${body}\nexit 0\n`, { mode: 0o755 });
    }
    const file = join(
      folder,
      `${deb.name}_${deb.version.replace(/^\d+:/, '')}_${deb.architecture ?? 'amd64'}.deb`,
    );
    mkdirSync(folder, { recursive: true });
    await run('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '--build', tree, file]);
    return file;
  } finally {
    rmSync(tree, { recursive: true });
  }
}

/** Writes a file of a package to its installed path, below `tree`. */
export function putFile(tree: string, file: DebFile): void {
  const target = join(tree, file.path);
  mkdirSync(dirname(target), { recursive: true });
  if ('link' in file.content) {
    symlinkSync(file.content.link, target);
    return;
  }
  if ('copy' in file.content) copyFileSync(file.content.copy, target);
  else writeFileSync(target, 'text' in file.content ? file.content.text : file.content.bytes);
  chmodSync(target, file.executable === true ? 0o755 : 0o644);
}

function control(deb: Deb): string {
  const list = (label: string, names: readonly string[] | undefined): string =>
    names === undefined || names.length === 0 ? '' : `${label}: ${names.join(', ')}\n`;
  return [
    `Package: ${deb.name}\nVersion: ${deb.version}\nArchitecture: ${deb.architecture ?? 'amd64'}\n`,
    'Maintainer: azp-fleet lab <lab@azp-fleet.invalid>\nSection: misc\nPriority: optional\n',
    list('Depends', deb.depends),
    list('Conflicts', deb.conflicts),
    list('Provides', deb.provides),
    `Description: ${deb.description}\n`,
  ].join('');
}
