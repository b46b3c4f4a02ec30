import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';

import { usageError } from '../../base/errors.ts';
import type { ConfigWorld } from './outside.ts';
import { matchGlob } from './pattern.ts';

/** The real outside for reading ssh_config files. */
export function realWorld(
  home: string,
  user: string,
  env: Readonly<Record<string, string | undefined>>,
): ConfigWorld {
  return {
    home,
    user,
    uid: userInfo().uid,
    localHost: hostname(),
    isAddress: (text) => isIP(text) !== 0,
    execute: (command) =>
      spawnSync(env['SHELL'] ?? '/bin/sh', ['-c', command], { stdio: ['ignore', 'ignore', 'ignore'], env })
        .status ?? 255,
    readFile,
    glob,
  };
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw usageError(
      {
        code: 'ssh.config',
        step: 'connect',
        what: `the SSH configuration ${path} cannot be read`,
        seen: code ?? String(error),
        next: `ls -l ${path}`,
      },
      error,
    );
  }
}

function glob(pattern: string): readonly string[] {
  let found = ['/'];
  for (const part of pattern.split('/').filter((segment) => segment !== '')) {
    found = found.flatMap((folder) => (/[*?[]/.test(part) ? children(folder, part) : [join(folder, part)]));
  }
  return found;
}

function children(folder: string, pattern: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => matchGlob(name, pattern) && (pattern.startsWith('.') || !name.startsWith('.')))
      .sort()
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
