// Refusals of the manager, as its client on the host prints them.
import { createServer, request, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ErrorCode } from '../../../../src/shared/base/codes/code.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { ask, type ControlHandlers, serveControl } from '../../../../src/manager/serve/control.ts';
import { failureOutput } from '../../../../src/manager/start/reporting.ts';

let directory: string;
let server: Server | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ask-'));
});
afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(directory, { recursive: true, force: true });
});

/** Returns the printed text for an answer; undefined: no manager runs, except one that the test has created. */
async function printed(answer?: { readonly status: number; readonly body: string }): Promise<string> {
  const path = join(directory, 'sock');
  if (answer !== undefined)
    server = createServer((_, response) => response.writeHead(answer.status).end(answer.body));
  if (server !== undefined) await new Promise<void>((resolve) => server?.listen(path, resolve));
  const error = await ask(path, { method: 'GET', path: '/v1/x' }).catch((thrown: unknown) => thrown);
  return failureOutput(error).text.replaceAll(directory, 'DIR');
}

test('a refusal is printed with what, expected, seen and next', async () => {
  const problem = {
    code: 'slot.unknown',
    what: 'there is no slot 9',
    expected: '0 or 1',
    seen: '9',
    next: 'correct the name of the slot',
  };
  expect(await printed({ status: 400, body: JSON.stringify(problem) })).toBe(
    'there is no slot 9\n  expected  0 or 1\n  seen      9\n  next      correct the name of the slot\n',
  );
});

test('a refusal without a next action has no such line', async () => {
  const body = JSON.stringify({ code: 'control.bad-request', what: 'the body is not JSON' });
  expect(await printed({ status: 400, body })).toBe('the body is not JSON\n');
});

test.each(['<html>oops</html>', '{"what":7,"code":"x"}', '[]', 'null', ''])(
  'an answer of another format is shown unchanged: %s',
  async (body) => {
    const text = await printed({ status: 500, body });
    expect(text).toContain('the manager answered 500 without a reason\n');
    expect(text).toContain('next      check its journal: journalctl -u azp-fleet-manager\n');
    expect(text).toContain(body);
  },
);

test('control sequences of a refusal are removed', async () => {
  const body = JSON.stringify({ code: 'x', what: 'a\u001b[2Jb\nc', next: 'd\u001b]0;e\u0007' });
  const text = await printed({ status: 500, body });
  expect(text).not.toMatch(/[\u001b\u0007]/);
  expect(text).toMatch(/^a.*b c\n {2}next {6}d/);
});

test('a missing manager is reported with its socket and the next action', async () => {
  expect(await printed()).toBe(
    'the manager does not answer on DIR/sock\n  seen      connect ENOENT DIR/sock\n  next      check whether it runs: systemctl status azp-fleet-manager\n',
  );
});

test('an answer that ends early is reported: the manager stopped while it answered', async () => {
  server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('{"slots":', () => response.destroy());
  });
  expect(await printed()).toBe(
    'the manager does not answer on DIR/sock\n  seen      the connection was closed before the end of the answer\n  next      check whether it runs: systemctl status azp-fleet-manager\n',
  );
});

test.each<[ErrorCode, number]>([
  ['control.bad-request', 400],
  ['slot.unknown', 400],
  ['gpu.unknown', 400],
  ['webhook.none', 400],
  ['drain.at-work', 409],
  ['control.not-found', 404],
  ['runs.no-diagnostics', 404],
  ['state.not-written', 500],
])('the HTTP status of %s is %i, as scripts with curl see it', async (code, status) => {
  const refuse = () => Promise.reject(new FleetError({ code, what: 'refused' }));
  const socketPath = join(directory, 'sock');
  server = await serveControl(socketPath, { status: refuse } as unknown as ControlHandlers, silentLogger);
  const seen = await new Promise((resolve, reject) => {
    request({ socketPath, path: '/v1/status' }, (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end();
  });
  expect(seen).toBe(status);
});
