import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { Options } from '../../../../src/cli/options.ts';
import { connected, type Connected } from '../../../../src/cli/run/hosts.ts';
import { openHosts } from '../../../../src/cli/run/inventory.ts';
import type { Progress } from '../../../../src/cli/render/progress.ts';
import { quietContext } from '../../../support/command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'azp-with-'));
afterAll(() => rmSync(cwd, { recursive: true }));
writeFileSync(
  join(cwd, 'lab.yaml'),
  'organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\nhosts: { a: { pool: p } }\n',
);
const input = {
  positionals: [],
  rest: [],
  options: new Options({}),
  inventory: 'lab.yaml',
  commandLine: 'azp-fleet exec',
  commands: [],
};

/** Runs a body with a progress and connections that record their calls. */
async function trace(
  body: (at: Connected<{ close(): void }>, seen: string[]) => Promise<unknown>,
  connect: () => void = () => undefined,
) {
  const seen: string[] = [];
  let drawn = 0;
  const draw = (): Progress => {
    const name = `progress ${(drawn += 1)}`;
    seen.push(`${name} begins`);
    return {
      sink: (event) => void seen.push(`${name}: ${event.kind}`),
      aside: (question) => question(),
      finish: () => Promise.resolve(void seen.push(`${name} ends`)),
    };
  };
  const { context } = quietContext({ cwd });
  const wiring = {
    draw,
    connect: () => {
      connect();
      return { close: () => void seen.push('closed') };
    },
  };
  const open = openHosts(context, input);
  const ended = connected(context, input, open, wiring, (at) => body(at, seen));
  const error = await ended.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { seen, error };
}

describe('the progress and the connections of a command', () => {
  test('are closed in order when it is done: first the progress, then the connections', async () => {
    const { seen } = await trace(async ({ emit }, log) => {
      emit({ kind: 'phase', phase: 'facts' });
      await Promise.resolve(log.push('done'));
    });
    expect(seen).toEqual(['progress 1 begins', 'progress 1: phase', 'done', 'progress 1 ends', 'closed']);
  });

  test('are also closed when it fails or is interrupted', async () => {
    const { seen, error } = await trace(() => Promise.reject(new Error('broken')));
    expect(seen).toEqual(['progress 1 begins', 'progress 1 ends', 'closed']);
    expect(error).toMatchObject({ message: 'broken' });
  });

  test('the progress is also closed when connecting fails', async () => {
    const refuse = () => {
      throw new Error('no connection');
    };
    const { seen, error } = await trace(() => Promise.resolve(), refuse);
    expect(seen).toEqual(['progress 1 begins', 'progress 1 ends']);
    expect(error).toMatchObject({ message: 'no connection' });
  });

  test('the progress is drawn again after a question', async () => {
    const { seen } = await trace(async ({ emit, quiet, redraw }, log) => {
      await quiet();
      log.push('asked');
      redraw();
      emit({ kind: 'phase', phase: 'apply' });
    });
    expect(seen.slice(1)).toEqual([
      'progress 1 ends',
      'asked',
      'progress 2 begins',
      'progress 2: phase',
      'progress 2 ends',
      'closed',
    ]);
  });
});
