// The lines of `status --html`: over ssh, from the manager of a host, and what the page says without an answer.
import { createServer, type ServerResponse } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { runCommand } from '../../../support/command.ts';
import { framesSaid, hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { workingFacts } from '../../../support/practice-fleet.ts';
import { recordedAnswers } from '../../../support/release-before.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const points = (...values: readonly (number | null)[]) => [
  ...Array.from({ length: 96 - values.length }, () => null),
  ...values,
];
const series = (gpu: string, ...values: readonly (number | null)[]) => ({
  gpu,
  utilizationPercent: points(...values),
  memoryUsedMiB: points(),
  temperatureC: points(),
  powerW: points(),
});
const answer = { schema: 1, from: '2026-11-20T12:00:00Z', stepS: 900, omitted: 0 };
const text = (value: unknown) => (response: ServerResponse) => response.end(JSON.stringify(value));

let said: (response: ServerResponse) => void;
let asked: string[];
const manager = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  said(response);
});
let host: HostileHost;
let away: HostileHost;
const azpFleet = (...argv: string[]) =>
  runCommand(argv, { cwd: fake.folder, env: { LOGIN: 'a-login-password' } });

beforeAll(async () => {
  const managerSocket = join(fake.folder, 'manager.sock');
  await new Promise<void>((resolve) => void manager.listen(managerSocket, resolve));
  const facts = (script: string) => framesSaid(script, workingFacts('11'));
  host = await hostileHost({ managerSocket, answer: facts });
  away = await hostileHost({ answer: facts });
  writeFileSync(
    join(fake.folder, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, agents: 2, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
  h200-1: { address: 127.0.0.1, port: ${host.port} }
  h200-2: { address: 127.0.0.1, port: ${away.port} }
`,
  );
  await azpFleet('trust', '--yes');
});
afterAll(() => {
  host.close();
  away.close();
  manager.closeAllConnections();
  manager.close();
});
beforeEach(() => {
  asked = [];
});

/** Writes the page of a host and returns it. */
async function page(name: string): Promise<string> {
  await azpFleet('status', name, '--html', 'fleet.html');
  return readFileSync(join(fake.folder, 'fleet.html'), 'utf8');
}

test('each GPU has its line, and the page says what it is; one without samples has no history yet', async () => {
  said = text({ ...answer, gpus: [series('GPU-1', 20, 100, 30)] });
  const shown = await page('h200-1');
  expect(asked).toEqual(['GET /v1/series?hours=24']);
  expect(shown).toContain('<path d="M93 80h.1L94 0L95 70"/>');
  expect(shown).toContain(
    'aria-label="Utilization in 24 hours: min 20 %, mean 50 %, max 100 %, last 30 %, 93 values unknown"',
  );
  expect(shown).toContain('Line of a GPU: utilization from 0 to 100 % over the last 24 hours');
  expect(shown.match(/no history yet/g)).toHaveLength(1);
});

test('a manager of the release before has no history yet', async () => {
  const { status, body } = recordedAnswers().find(({ name }) => name === 'what it does not know')?.answer ?? {
    status: 0,
    body: undefined,
  };
  said = (response) => response.writeHead(status).end(JSON.stringify(body));
  const shown = await page('h200-1');
  expect(shown.match(/no history yet/g)).toHaveLength(2);
  expect(shown).not.toContain('Line of a GPU');
});

test.each<[string, () => void, string]>([
  [
    'it fails',
    () =>
      (said = (response) =>
        response.writeHead(500).end(JSON.stringify({ code: 'manager.failed', what: '<b>disk</b> full' }))),
    '&lt;b&gt;disk&lt;/b&gt; full',
  ],
  [
    'it sends something else',
    () => (said = text({ ...answer, gpus: [{ gpu: 'GPU-1' }] })),
    'the manager sent an invalid response',
  ],
  [
    'it sends too much',
    () => (said = (response) => response.end(' '.repeat(65_538))),
    'the manager sent a response of more than 64 KiB',
  ],
  [
    'the answer has no place for its GPUs',
    () => (said = text({ ...answer, gpus: [], omitted: 2 })),
    'too many GPUs for one answer',
  ],
  [
    'utilization is not reported',
    () => (said = text({ ...answer, gpus: [series('GPU-1'), series('GPU-2')] })),
    'utilization not reported',
  ],
])('the history is unknown, with the reason, where %s', async (_, says, why) => {
  says();
  const shown = await page('h200-1');
  expect(shown.split(`history unknown: ${why}`)).toHaveLength(3);
  expect(shown).not.toContain('no history yet');
});

test('and where the manager does not answer', async () => {
  expect((await page('h200-2')).split('history unknown: the manager does not answer')).toHaveLength(3);
});

test('without --html no manager is asked', async () => {
  await azpFleet('status', 'h200-1');
  expect(asked).toEqual([]);
});
