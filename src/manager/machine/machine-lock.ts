import { spawn } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pid } from 'node:process';
import { FleetError } from '../../shared/base/errors.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { childEnvironment } from './command.ts';
import { readTextNow } from './files.ts';

/**
 * Locks the machine for one manager: two managers would use each other's containers and names, also with other options. The
 * kernel holds the lock until this process exits. It is in the state folder, not below /run, which systemd empties when a
 * start fails.
 */
export async function lockMachine(folder: string = HostPaths.state): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'machine.lock');
  const file = openSync(path, 'a+', 0o600);
  const code = await flock(file);
  if (code === 0) {
    ftruncateSync(file);
    writeSync(file, `${pid}\n`);
    return;
  }
  closeSync(file);
  throw code === taken ? alreadyRunning(holder(path)) : noLock(path, code);
}

/** Exit code of flock when another process has the lock. */
const taken = 75;

/** Runs flock on the open file, which this process shares with it. */
function flock(file: number): Promise<number | string> {
  return new Promise((resolve) => {
    const args = ['--exclusive', '--nonblock', '--conflict-exit-code', String(taken), '3'];
    const child = spawn('flock', args, {
      env: childEnvironment,
      stdio: ['ignore', 'ignore', 'ignore', file],
    });
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code ?? 'it was killed'));
  });
}

function holder(path: string): string {
  const owner = Number.parseInt(readTextNow(path), 10);
  return Number.isInteger(owner) ? ` (process ${owner})` : '';
}

function alreadyRunning(who: string): FleetError {
  return new FleetError({
    code: 'manager.already-running',
    what: `another manager already runs on this machine${who}`,
    next: 'use that one, or stop it: systemctl stop azp-fleet-manager',
  });
}

function noLock(path: string, seen: number | string): FleetError {
  return new FleetError({
    code: 'manager.no-lock',
    what: `the lock ${path} cannot be acquired`,
    seen: typeof seen === 'number' ? `flock failed with exit code ${seen}` : seen,
    next: 'check that the state is on a local file system, and that flock (util-linux) is installed',
  });
}
