import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeEach, expect } from 'vitest';

import { runCommand } from './command.ts';

/** Creates a home folder with an inventory, and reads what ssh makes of its ~/.ssh. */
export function useSshHome() {
  const cwd = mkdtempSync(join(tmpdir(), 'ssh-home-'));
  const ssh = join(cwd, '.ssh');
  const config = join(ssh, 'config');
  const env = { PATH: process.env['PATH'] ?? '', SSH_AUTH_SOCK: '' };
  afterAll(() => rmSync(cwd, { recursive: true }));
  beforeEach(() => {
    rmSync(ssh, { recursive: true, force: true });
    mkdirSync(ssh, { mode: 0o700 });
  });

  const inventory = (hosts: string, name = 'lab.yaml'): void => {
    writeFileSync(
      join(cwd, name),
      `organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN, expires: 2026-12-01 }\ndefaults: { pool: p }\nhosts:\n${hosts}`,
    );
  };

  const azpFleet = (line: string) => runCommand(line.split(' '), { cwd, env });

  /** Runs `ssh-config --write` and returns its document. */
  const write = async (line = '') => {
    const result = await azpFleet(`ssh-config -i lab.yaml --write --json${line}`);
    expect(result.stderr).toBe('');
    return JSON.parse(result.stdout) as {
      exitCode: number;
      hosts: { host: string; added?: string[]; problem?: { code: string } }[];
      problems: unknown[];
    };
  };

  /** The file that ssh reads without -F; ssh takes the home folder from passwd, so tests name the file. */
  const userFile = (): string => {
    const file = join(cwd, 'as-by-default');
    writeFileSync(file, `Include ${config}\nMatch all\nInclude /etc/ssh/ssh_config\n`, { mode: 0o600 });
    return file;
  };

  /** Returns the settings that `ssh -G NAME` prints. */
  const theirs = (name: string, file = userFile()): Record<string, string[]> => {
    const said = execFileSync('ssh', ['-T', '-F', file, '-G', name], { encoding: 'utf8', env });
    const options: Record<string, string[]> = {};
    for (const line of said.trim().split('\n')) {
      const [option = '', value = ''] = line.split(/ (.*)/s);
      (options[option] ??= []).push(value);
    }
    return options;
  };

  const paths = {
    cwd,
    ssh,
    config,
    hosts: join(ssh, 'azp-fleet.config'),
    keys: join(ssh, 'azp-fleet.known_hosts'),
  };
  return { ...paths, env, inventory, azpFleet, write, userFile, theirs };
}
