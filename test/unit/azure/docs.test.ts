import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { calls } from '../../../src/azure/calls.ts';
import { newAgent } from './fake/server.ts';
import { AgentKey } from '../../../src/azure/keys.ts';

const page = readFileSync('docs/azure.md', 'utf8');

test('docs/azure.md explains every error code, and none that does not exist', () => {
  const files = globSync(['src/azure/**/*.ts', 'src/apply/*.ts']);
  const sources = files.filter((file) => !file.startsWith('src/azure/fake/'));
  const text = sources.map((file) => readFileSync(file, 'utf8')).join('\n');
  const codes = (from: string, quote: string) =>
    new Set(
      [...from.matchAll(new RegExp(`${quote}(azure\\.[a-z-]+)${quote}`, 'gu'))].map(([, code]) => code),
    );
  expect(codes(page, '`')).toEqual(codes(text, "'"));
});

test('docs/azure.md names every kind of path that is called', () => {
  const key = new AgentKey({ n: 'AA', e: 'AQAB', d: '', p: '', q: '', dp: '', dq: '', qi: '' });
  const agent = newAgent('a', key);
  const all = [
    calls.listPools(),
    calls.createPool('p'),
    calls.setAutoUpdate(1, false),
    calls.listAgents(1),
    calls.getAgent(1, 2),
    calls.createAgent(1, agent),
    calls.replaceAgent(1, 2, agent),
    calls.setEnabled(1, 2, true),
    calls.setUserCapabilities(1, 2, {}),
    calls.deleteAgent(1, 2),
    calls.unfinishedRequests(1),
    calls.getRequest(1, 2),
    calls.listQueues('x'),
    calls.createQueue('x', { id: 1, name: 'p' }),
    calls.readPermission('x', 1),
    calls.authorizeQueue('x', 1),
  ];
  expect(all).toHaveLength(Object.keys(calls).length);
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  for (const { method, path } of all) {
    const last = path.split('/').findLast((part) => /^[a-z]+$/u.test(part) && part !== 'x') ?? '';
    const told = rows.some((row) => row.includes(method) && row.includes(last));
    expect(told, `${method} ${path}`).toBe(true);
  }
});
