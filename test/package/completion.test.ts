// Each completion in its own shell, on a terminal: a line is typed, Tab is pressed, and the line is read again.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { env, execPath } from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { requireCurrentBuild } from '../support/current-build.ts';
import { Terminal } from '../../practice/lab/terminal.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'azp-complete-'));
afterAll(() => rmSync(folder, { recursive: true }));
const bin = join(folder, 'bin');
const cwd = join(folder, 'work');

beforeAll(() => {
  requireCurrentBuild(root);
  mkdirSync(bin);
  mkdirSync(join(cwd, 'teams'), { recursive: true });
  mkdirSync(join(cwd, 'plans'));
  const azpFleet = join(bin, 'azp-fleet');
  writeFileSync(azpFleet, `#!/bin/sh\nexec '${execPath}' '${root}/bin/azp-fleet.js' "$@"\n`);
  chmodSync(azpFleet, 0o755);
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab, labels: { room: b12 } }
groups: { hopper: { hosts: [h200-1] } }
hosts:
  h200-1: { agents: [{ name: train, gpus: [0] }, { name: test, gpus: [1] }] }
  rtx-box: {}
`,
  );
  writeFileSync(join(cwd, 'teams/lab.yaml'), '');
  writeFileSync(join(cwd, 'teams/notes.txt'), '');
});

const cases = [
  ['a command', 'azp-fleet compl', 'completion'],
  ['a command of a group', 'azp-fleet inventory ch', 'check'],
  ['a topic of help', 'azp-fleet help inventory sh', 'show'],
  ['an option', 'azp-fleet status --probe-', '--probe-timeout'],
  ['a host', 'azp-fleet status rt', 'rtx-box'],
  ['a group', 'azp-fleet reboot ho', 'hopper'],
  ['a label', 'azp-fleet plan --limit roo', 'room=b12'],
  ['the rest of a label', 'azp-fleet drain --limit room=', 'room=b12'],
  ['a value behind =', 'azp-fleet exec --limit=rt', '--limit=rtx-box'],
  ['a slot', 'azp-fleet logs h200-1/tr', 'h200-1/train'],
  ['a slot to drain', 'azp-fleet drain h200-1/te', 'h200-1/test'],
  ['an agent to drain', 'azp-fleet undrain h200-1/h200-1-tr', 'h200-1/h200-1-train'],
  ['a slot behind a host', 'azp-fleet status rtx-box,h200-1/tr', 'rtx-box,h200-1/train'],
  ['a slot of a host', 'azp-fleet undrain h200-1 --slot te', 'test'],
  ['a folder on the way', 'azp-fleet status -i te', 'teams/'],
  ['an inventory in a folder', 'azp-fleet trust -i teams/', 'teams/lab.yaml'],
  ['a folder to write to', 'azp-fleet plan -o pl', 'plans/'],
] as const;

describe.each([
  ['bash', 'bash --norc --noprofile -i', 'source <(azp-fleet completion bash)'],
  ['zsh', 'zsh -f -i', 'source <(azp-fleet completion zsh)'],
  ['fish', 'fish --no-config -i', 'azp-fleet completion fish | source'],
])('%s', (name, command, load) => {
  let terminal: Terminal;
  beforeAll(async () => {
    if (spawnSync(name, ['--version']).error !== undefined)
      throw new Error(`${name} is missing; next: install it, or run npm run test:package as root on Debian`);
    // tmux has a separate PATH.
    terminal = new Terminal(`env PATH='${[bin, env['PATH']].join(delimiter)}' ${command}`, {
      cwd,
      columns: 100,
      env: { HOME: folder, XDG_STATE_HOME: folder, PS1: '> ' },
    });
    terminal.type(`${load}; clear; echo lo''aded`);
    terminal.press('Enter');
    await terminal.see(/^loaded$/m);
  });
  afterAll(() => terminal.close());

  test.each(cases)('%s: %s', async (_, line, word) => {
    terminal.press('C-u');
    terminal.type(line);
    await terminal.see(line);
    terminal.press('Tab');
    const completed = `${line.slice(0, line.lastIndexOf(' '))} ${word}`;
    expect(await terminal.see(completed)).toContain(completed);
  });
});
