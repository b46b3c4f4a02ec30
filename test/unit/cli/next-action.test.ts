import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { runCommand } from '../../support/command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'azp-next-'));
afterAll(() => rmSync(cwd, { recursive: true }));
const inventory = (token: string, more = '') =>
  `organization: https://dev.azure.com/example\ntoken: ${token}\nhosts: { a: { pool: p } }\n${more}`;
writeFileSync(join(cwd, 'lab.yaml'), inventory('{ env: AZP_TOKEN }'));
writeFileSync(join(cwd, 'file.yaml'), inventory('{ file: token.txt }'));
writeFileSync(join(cwd, 'ca.yaml'), inventory('{ env: AZP_TOKEN }', 'ca: ca.pem\n'));
writeFileSync(join(cwd, 'nothing.yaml'), inventory('{ cmd: "true" }'));

test.each([
  ['plan file.yaml', `(umask 077; cat > ${cwd}/token.txt)`],
  ['plan nothing.yaml', 'run it yourself: true'],
  ['plan ca.yaml', 'correct "ca:" in the inventory'],
  ['provision lab.yaml --plan none.json', 'azp-fleet plan -o FILE'],
  ['provision lab.yaml --rerun foo', '--rerun failed'],
  ['provision lab.yaml --paralel 3', 'did you mean "--parallel"? see azp-fleet provision --help'],
  ['completion csh', 'azp-fleet completion bash'],
  ['diagnose none.xml', 'nvidia-smi -q -x'],
  ['logs /0', 'azp-fleet status'],
])('%s has a next action', async (line, next) => {
  const env = { AZP_TOKEN: 'a-token-of-some-length' };
  const { exitCode, stderr } = await runCommand(line.split(' '), { cwd, env });
  expect(exitCode).toBe(2);
  expect(stderr.replaceAll(/[\s\\]+/g, ' ')).toContain(next.replaceAll(/\s+/g, ' '));
  expect(stderr).toMatch(/^ {2}next /m);
});
