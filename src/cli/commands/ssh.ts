import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SshResolver } from '../../fleet/ssh/config/resolver.ts';
import { loginArguments } from '../../fleet/ssh/wire/openssh.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import type { CommandInput } from '../command.ts';
import { openHosts } from '../run/inventory.ts';
import { withoutSecrets } from '../run/secrets.ts';

/** Runs the system's ssh on the terminal and returns its exit code. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { fleet, hosts } = openHosts(context, input);
  const [host, ...more] = hosts;
  if (host === undefined || more.length > 0) {
    throw usageError({
      code: 'usage.ssh',
      what: `${input.positionals.join(' ')} names ${more.length + 1} hosts`,
      expected: 'one host',
      next: 'list the names with azp-fleet inventory list; for several hosts use azp-fleet exec',
    });
  }
  const env = withoutSecrets(context.env, fleet);
  const { home, user } = context;
  const ssh = new SshResolver({ home, user, env, notice: () => undefined, hosts: fleet.hosts });
  const folder = mkdtempSync(join(tmpdir(), 'azp-ssh-'));
  try {
    const options = await ssh.resolve(host.name, host.ssh);
    const jumpHosts = await ssh.jumpHostsTo(options);
    const flags = loginArguments(options, jumpHosts, folder, { asks: true, keepsErrors: false });
    return await runSsh([...flags, '--', options.typed, ...input.rest], env, context.signal);
  } finally {
    ssh.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs ssh. `signal`: a terminal signals ssh itself; signals to this process alone are passed on. */
function runSsh(args: readonly string[], env: Context['env'], signal: AbortSignal): Promise<ExitCode> {
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', args, { stdio: 'inherit', env });
    const end = (): void => void child.kill();
    signal.addEventListener('abort', end, { once: true });
    child.once('error', (error) => {
      const next = 'install the OpenSSH client';
      reject(usageError({ code: 'ssh.no-openssh', what: 'cannot start ssh', next }, error));
    });
    child.once('close', (code) => {
      signal.removeEventListener('abort', end);
      resolve((code ?? ExitCode.hostFailed) as ExitCode);
    });
  });
}
