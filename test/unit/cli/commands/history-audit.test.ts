// The audit files of two hosts and of this machine, as a run writes them and `history --audit` shows them.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';

import { auditText, readAuditScript } from '../../../../src/cli/commands/history-audit.ts';
import { widthOf } from '../../../../src/cli/render/lines.ts';
import { ownAudit, readOwnAudit } from '../../../../src/cli/run/audit.ts';
import { auditEntry } from '../../../../src/fleet/audit/entry.ts';
import type { AuditRecord } from '../../../../src/fleet/audit/read.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { StillClock } from '../../../support/clock.ts';
import { runCommand } from '../../../support/command.ts';
import { hostileHost, type HostileHost } from '../../../support/hostile-host.ts';

const cwd = mkdtempSync(join(tmpdir(), 'history-'));
const file = join(cwd, '.local/state/azp-fleet/audit.jsonl');
const place = { env: {}, home: cwd };
const entry = (host: string, run: string) =>
  auditEntry([[{ kind: 'change', id: 'manager-token-0a1b2c3d4e' }]], {
    host,
    run,
    who: 'ann@laptop',
    command: 'azp-fleet token rotate',
  });
const seen = { login: 'lab', from: '192.0.2.7', key: 'SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG' };
const hostLine = (at: string, event: string, run: string, outcome?: string) =>
  `${JSON.stringify({ at, event, ...seen, ...entry('gpu-1', run), ...(outcome === undefined ? {} : { outcome }) })}\n`;

let text = '';
let machine: HostileHost | undefined;
const clock = new StillClock();
beforeEach(async () => {
  text = '';
  machine = await hostileHost({
    answer: (script) => (script.includes(readAuditScript) ? { stdout: text } : { code: 1 }),
  });
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: https://dev.azure.com/example
token: { env: NONE }
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
  gpu-1: { address: 127.0.0.1, port: ${machine.port}, hostKeyPolicy: accept-new }
  gpu-2: { address: 127.0.0.1, port: 9 }
`,
  );
});
afterEach(() => {
  machine?.close();
  rmSync(join(cwd, '.local'), { recursive: true, force: true });
});
afterAll(() => rmSync(cwd, { recursive: true }));

async function history(...argv: readonly string[]) {
  const run = (more: readonly string[]) =>
    runCommand(['history', '--audit', ...argv, ...more], { cwd, env: { LOGIN: 'a-login-password' }, clock });
  const { exitCode, stdout } = await run(['--json']);
  const { entries, problems } = JSON.parse(stdout) as {
    readonly entries: readonly AuditRecord[];
    readonly problems: readonly { readonly code: string; readonly host?: string }[];
  };
  return { exitCode, entries, problems };
}

describe('the file of this machine', () => {
  test('gets a line before and after the changes of a host, only for its user', () => {
    const audit = ownAudit({ ...place, clock, log: silentLogger });
    audit?.('begin', entry('gpu-1', 'run-1'));
    audit?.('end', entry('gpu-1', 'run-1'), 'changed 1');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readOwnAudit(place)).toMatchObject([
      { event: 'begin', host: 'gpu-1', who: 'ann@laptop', changes: ['manager-token-0a1b2c3d4e'] },
      { event: 'end', outcome: 'changed 1' },
    ]);
  });

  test('is replaced at its limit; two files stay', () => {
    const audit = ownAudit({ ...place, clock, log: silentLogger });
    audit?.('begin', entry('gpu-1', 'run-1'));
    for (const round of ['a', 'b']) {
      writeFileSync(file, `${round}\n`.repeat(2 * 1024 * 1024));
      audit?.('begin', entry('gpu-1', 'run-2'));
      expect(readFileSync(`${file}.1`, 'utf8').startsWith(round)).toBe(true);
    }
    expect(existsSync(`${file}.2`)).toBe(false);
    expect(readOwnAudit(place)).toMatchObject([{ run: 'run-2' }]);
  });

  test('that cannot be written stops nothing', () => {
    writeFileSync(join(cwd, '.local'), '');
    expect(() =>
      ownAudit({ ...place, clock, log: silentLogger })?.('begin', entry('gpu-1', 'r')),
    ).not.toThrow();
  });
});

describe('history --audit', () => {
  test("shows each run once, and names those that a host's file lacks", async () => {
    const audit = ownAudit({ ...place, clock, log: silentLogger });
    audit?.('begin', entry('gpu-1', 'run-lost'));
    audit?.('end', entry('gpu-1', 'run-lost'), 'changed 1');
    audit?.('begin', entry('gpu-2', 'run-2'));
    text =
      hostLine('2026-11-01T10:00:00Z', 'begin', 'run-1') +
      hostLine('2026-11-01T10:01:00Z', 'end', 'run-1', 'changed 1');
    const { exitCode, entries, problems } = await history();
    expect(exitCode).toBe(1);
    expect(entries).toMatchObject([
      { host: 'gpu-1', run: 'run-1', in: 'host', outcome: 'changed 1', ...seen },
      { host: 'gpu-1', run: 'run-lost', in: 'lost' },
      { host: 'gpu-2', run: 'run-2', in: 'here' },
    ]);
    expect(problems).toMatchObject([{ code: 'ssh.refused', host: 'gpu-2' }]);
  });

  test('--since leaves out earlier runs', async () => {
    text =
      hostLine('2026-01-01T10:00:00Z', 'begin', 'old') + hostLine('2026-11-20T10:00:00Z', 'begin', 'new');
    const { entries } = await history('gpu-1', '--since', '30d');
    expect(entries.map(({ run }) => run)).toEqual(['new']);
  });

  test('a hostile file is bounded, its escapes are removed, and its lines are counted', async () => {
    text = `x\u001B[2J\n${'y'.repeat(900_000)}\n${hostLine('2026-11-01T10:00:00Z', 'begin', 'run-1').replace('ann@laptop', String.raw`\u001b[31mann`)}`;
    const { entries, problems } = await history('gpu-1');
    expect(entries).toHaveLength(1);
    expect(JSON.stringify(entries)).not.toContain(String.raw`\u001b`);
    expect(problems).toMatchObject([{ code: 'audit.damaged', host: 'gpu-1' }]);
    text = 'z'.repeat(3 * 1024 * 1024);
    expect((await history('gpu-1')).problems).toMatchObject([{ code: 'ssh.output-too-long' }]);
  });

  test('fits into 80 columns', () => {
    const records: AuditRecord[] = [
      { at: '2026-11-01T10:00:00Z', ...entry('gpu-1', 'run-1'), ...seen, outcome: 'changed 1', in: 'both' },
      { at: '2026-11-02T10:00:00Z', ...entry('gpu-2', 'run-2'), in: 'lost' },
    ];
    const shown = auditText(records, 80);
    expect(shown.split('\n').filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(shown).toMatchInlineSnapshot(`
      "2026-11-01 10:00 UTC  gpu-1  changed 1  azp-fleet token rotate
          ann@laptop from 192.0.2.7 as lab,
            SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG
          manager: token
      2026-11-02 10:00 UTC  gpu-2  no end recorded  azp-fleet token rotate
          ann@laptop
          manager: token
          ! not in the host's audit file: compare with journalctl -t azp-fleet-audit
            there
      "
    `);
    const [record] = records;
    if (record === undefined) throw new Error('no record');
    const changes = [
      'docker-source-5f777fbc6b',
      'docker-install-7053a27118',
      'manager-start-640630a616',
      'odd',
    ];
    expect(auditText([{ ...record, changes }], 80)).toContain(
      '    docker: source, install; manager: start; odd\n',
    );
    expect(auditText([], 80)).toBe('No changes are recorded.\n');
  });
});
