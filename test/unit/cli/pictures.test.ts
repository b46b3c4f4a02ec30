// Draws docs/plan.svg and docs/status.svg from real runs: review changes there. Checks that docs/wizard.svg and docs/demo.svg,
// which scripts/pictures.ts records, still show what the program prints; docs/status-page.png is from there, too.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { headings } from '../../../practice/demo/run-demo.ts';
import { picture, wordsOn } from '../../../scripts/terminal-picture.ts';
import { statusText } from '../../../src/cli/render/status.ts';
import { statusRow } from '../../../src/fleet/status/row.ts';
import { agentFiles, generateAgentKey } from '../../../src/shared/azure/keys.ts';
import { Capabilities } from '../../../src/shared/contract/paths.ts';
import { AgentSession } from '../../support/agent-session.ts';
import { runCommand } from '../../support/command.ts';
import { practiceFleet, type PracticeFleet } from '../../support/practice-fleet.ts';
import { leftOnScreen } from '../../support/screen.ts';
import { facts, host, now, pool } from '../fleet/status/observation.ts';
import { newAgent, useFake } from '../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const docs = join(import.meta.dirname, '../../../docs');
const wordsOf = (name: string) => wordsOn(readFileSync(join(docs, `${name}.svg`), 'utf8'));
const isBroken = (line: string) => line.length > 80;

describe('on machines that always say the same', () => {
  const cwd = mkdtempSync('/tmp/azp-pictures-');
  const fake = useFake();
  let fleet: PracticeFleet;

  /** An agent of h200-1 that is online. */
  async function agentOnline(name: string): Promise<void> {
    const azure = fake.client();
    const { pool } = await azure.ensurePool('gpu-lab');
    const key = await generateAgentKey();
    const agent = await azure.createAgent(pool.id, {
      ...newAgent(name, key),
      userCapabilities: { [Capabilities.owner]: 'practice' },
    });
    const files = agentFiles({ agent, pool, organization: fake.server.organization, key });
    await AgentSession.open(new Map(files.map(({ name, content }) => [name, content])));
  }

  beforeAll(async () => {
    // Messages on stderr have the colours of the process.
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('FORCE_COLOR', '1');
    fleet = await practiceFleet(cwd);
    const inventory = `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${fleet.hosts.map((each) => `  ${each}\n`).join('')}`;
    writeFileSync(join(cwd, 'inventory.yaml'), inventory);
    await agentOnline('h200-1-0');
    await agentOnline('h200-1-1');
    await run('exec --limit !away -- true');
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    fleet.close();
    rmSync(cwd, { recursive: true });
  });

  function run(line: string) {
    const env = { LOGIN: 'a-login-password' };
    return runCommand(line.split(' '), { cwd, env, terminal: { columns: 80, rows: 24 } });
  }

  test.each([
    ['plan', 'plan l40s-1'],
    ['status', 'status h200-1 l40s-1 rtx-box'],
  ])('%s', async (name, line) => {
    const { both } = await run(line);
    const styled = leftOnScreen(both, (text) => text.replaceAll(/\u001b\[(?![\d;]*m)[\d;?]*[A-Za-z]/g, ''));
    const svg = picture(`azp-fleet ${name}`, `\u001b[1m$ azp-fleet ${line}\u001b[22m\n${styled.join('\n')}`);
    await expect(svg).toMatchFileSnapshot(join(docs, `${name}.svg`));
    expect(leftOnScreen(both).filter(isBroken)).toEqual([]);
  });
});

test('the wizard asks what the transcript of its test shows', () => {
  const transcript = readFileSync(join(docs, 'setup-transcript.txt'), 'utf8').split('\n');
  const said = new Set(transcript.map((line) => line.replaceAll(/ +/g, ' ').trim()));
  const shown = wordsOf('wizard');
  // The last question is still open.
  const open = shown.findIndex((line) => line.startsWith('? '));
  expect(open).toBeGreaterThan(20);
  expect(shown.slice(0, open).filter((line) => !said.has(line))).toEqual([]);
});

test('the picture of the page of status --html is small', () => {
  const png = readFileSync(join(docs, 'status-page.png'));
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  expect(png.length).toBeLessThan(150_000);
});

test('the demo has its headings, and the columns of the status', () => {
  const shown = wordsOf('demo');
  const titles = shown.filter((line) => line.startsWith('── '));
  const expected = [headings.status, headings.jobs, headings.again];
  expect(titles.map((line) => expected.find((each) => line.includes(each)))).toEqual(expected);
  // As in the demo: the systems and their Docker differ, so what is equal stands below the table.
  const debian = (id: string) => ({
    ...facts().os,
    id: 'debian',
    versionId: id,
    pretty: `Debian GNU/Linux ${id}`,
  });
  const hosts = [
    facts({}, { os: debian('12') }),
    facts({}, { os: debian('13'), docker: { serverVersion: '26.1.5' } }),
  ];
  const rows = hosts.map((seen) => statusRow({ host, facts: seen }, () => pool, now));
  const [columns = ''] = statusText(rows, { width: 80, paint: (_, text) => text }).split('\n');
  expect(shown).toContain(columns.replaceAll(/ +/g, ' '));
  expect(shown.filter(isBroken)).toEqual([]);
});
