import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { AgentRoots } from '../../../../src/manager/host-mode/agent-root.ts';
import { type CommandResult, runCommand } from '../../../../src/manager/machine/command.ts';
import { cleanDocker } from '../../../support/host-runs.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agent-root-'));
  chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true }));

function roots(below: string, answers: Record<string, CommandResult> = {}): AgentRoots {
  return new AgentRoots(join(directory, below), {
    command: async (program, args, deadlineMs) => answers[program] ?? runCommand(program, args, deadlineMs),
    docker: cleanDocker,
    log: silentLogger,
    jobsUseDocker: true,
  });
}

const user = { name: 'me', uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

test.each([
  ['0', '0'],
  ['bare-metal_1.x', 'bare-metal_1.x'],
  ['a/b', 'a_b-c14cdd'],
  ['..', '_.-5ec1f7'],
])('slot %j has the folder %j', (slot, folder) => {
  expect(roots('agents').of(slot)).toBe(join(directory, 'agents', folder));
});

test.each([
  [0o700, '0700'],
  // Passing through is not enough: the agent lists each folder.
  [0o711, '0711'],
  [0o751, '0751'],
])('below a folder of mode %o no agent is made, and it is named with what opens it', async (mode, seen) => {
  const closed = join(directory, 'closed');
  mkdirSync(closed, { mode });
  chmodSync(closed, mode);
  const agents = roots('closed/agents');
  await expect(agents.fill(agents.of('0'), '/bin', user)).rejects.toMatchObject({
    problem: {
      code: 'host-mode.folder-closed',
      what: `agents below ${closed}/agents cannot list ${closed}`,
      seen: `mode ${seen}`,
      next: `open it on the host: chmod o+rx ${closed}`,
    },
  });
});

test('what cannot be removed stops the slot, and is said with where to look', async () => {
  const output = "rm: cannot remove '/v/0/_work/1/data': Device or resource busy\n";
  const answer = { code: 1, output, timedOut: false, stillRunning: () => false };
  await expect(roots('agents', { rm: answer }).clear('/v/0')).rejects.toMatchObject({
    problem: {
      code: 'host-mode.folder-stays',
      what: 'what a job left in /v/0 cannot be removed',
      seen: output.trim(),
      next: 'look at findmnt and lsattr -R /v/0 on the host, and remove it by hand',
    },
  });
});

test('clearing what is not there is no mistake, and a link is not followed', async () => {
  const agents = roots('agents');
  await agents.clear(agents.of('0'));
  const elsewhere = join(directory, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'kept'), '');
  mkdirSync(agents.of('0'), { recursive: true });
  await runCommand('ln', ['-s', elsewhere, join(agents.of('0'), 'link')], 10_000);
  await agents.clear(agents.of('0'));
  const { output } = await runCommand('ls', [elsewhere, join(directory, 'agents')], 10_000);
  expect(output).toContain('kept');
  expect(output).not.toContain('link');
});
