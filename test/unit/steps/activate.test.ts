import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { scriptFailure } from '../../../src/apply/script-failure.ts';
import { activateScript } from '../../../src/steps/manager-scripts.ts';
import type { ManagerVersion } from '../../../src/steps/manager-version.ts';

/**
 * The real script under the real shell, its folders moved below a temporary one. systemctl is a stand-in that notes
 * its calls and refuses to restart while `current` points at a version named bad.
 */
class FakeRoot {
  readonly path = mkdtempSync(join(tmpdir(), 'azp-fleet-activate-'));

  constructor(...versions: readonly string[]) {
    for (const id of versions) mkdirSync(join(this.path, 'opt/versions', id), { recursive: true });
    mkdirSync(join(this.path, 'bin'));
    mkdirSync(join(this.path, 'etc'));
    const systemctl = `#!/bin/sh
echo "$*" >>${this.path}/calls
case "$1 $(readlink ${this.path}/opt/current)" in restart*bad) exit 1 ;; esac`;
    writeFileSync(join(this.path, 'bin/systemctl'), systemctl, { mode: 0o755 });
    writeFileSync(join(this.path, 'bin/journalctl'), '#!/bin/sh\necho "SyntaxError"', { mode: 0o755 });
  }

  activate(id: string, parts: { reload?: boolean; token?: string } = {}) {
    const version = { id, directory: `/opt/azp-fleet/versions/${id}` } as ManagerVersion;
    const script = activateScript({ version, reload: parts.reload ?? false, token: parts.token })
      .replaceAll('/opt/azp-fleet', join(this.path, 'opt'))
      .replaceAll('/etc/azp-fleet', join(this.path, 'etc'));
    const env = { PATH: `${join(this.path, 'bin')}:/usr/bin:/bin` };
    const { status, stderr } = spawnSync('/bin/sh', ['-eu'], { input: script, encoding: 'utf8', env });
    return { status, stderr, current: this.current(), kept: readdirSync(join(this.path, 'opt/versions')) };
  }

  current(): string | undefined {
    return readlinkSync(join(this.path, 'opt/current')).split('/').at(-1);
  }

  calls(): string[] {
    return readFileSync(join(this.path, 'calls'), 'utf8').trim().split('\n');
  }
}

const roots: FakeRoot[] = [];
afterEach(() => roots.splice(0).forEach(({ path }) => rmSync(path, { recursive: true })));
function rootWith(...versions: readonly string[]): FakeRoot {
  const root = new FakeRoot(...versions);
  roots.push(root);
  return root;
}

describe('activating a version of the manager', () => {
  it('keeps the version before, and only that', () => {
    const root = rootWith('one', 'two', 'three');
    expect(root.activate('one')).toMatchObject({ status: 0, current: 'one', kept: ['one'] });
    for (const id of ['two', 'three']) mkdirSync(join(root.path, 'opt/versions', id));
    expect(root.activate('two')).toMatchObject({ status: 0, kept: ['one', 'two'] });
    mkdirSync(join(root.path, 'opt/versions/three'));
    expect(root.activate('three')).toMatchObject({ current: 'three', kept: ['three', 'two'] });
  });

  it('goes back to the one before when the new one does not become ready, and shows its last lines', () => {
    const root = rootWith('good', 'bad');
    root.activate('good');
    mkdirSync(join(root.path, 'opt/versions/bad'), { recursive: true });
    const result = root.activate('bad');
    expect(result).toMatchObject({ status: 1, current: 'good', kept: ['bad', 'good'] });
    expect(scriptFailure('restart', 1, result.stderr).problem).toMatchObject({
      what: `this version of the manager did not become ready; the one before runs again: ${join(root.path, 'opt/versions/good')}`,
      seen: 'SyntaxError',
    });
    expect(root.calls().at(-1)).toBe('restart azp-fleet-manager.service');
  });

  it('says so when there is none to go back to', () => {
    expect(rootWith('bad').activate('bad')).toMatchObject({
      status: 1,
      current: 'bad',
      stderr: expect.stringContaining('there is none before it to go back to') as string,
    });
  });

  it('says so when the one before does not start either', () => {
    const root = rootWith('also-bad', 'bad');
    root.activate('also-bad');
    expect(root.activate('bad')).toMatchObject({
      status: 1,
      current: 'also-bad',
      stderr: expect.stringContaining('the one before does not either') as string,
    });
  });

  it('puts a new credential in place, and throws away one that was left lying', () => {
    const root = rootWith('one');
    const [token, next] = [join(root.path, 'etc/token'), join(root.path, 'etc/token.next')];
    writeFileSync(next, 'new');
    root.activate('one', { token: '/etc/azp-fleet/token.next' });
    expect(readFileSync(token, 'utf8')).toBe('new');
    writeFileSync(next, 'left');
    root.activate('one');
    expect([readFileSync(token, 'utf8'), existsSync(next)]).toEqual(['new', false]);
  });

  it('reloads systemd only when it has to', () => {
    const root = rootWith('one');
    root.activate('one');
    expect(root.calls()).not.toContain('daemon-reload');
    root.activate('one', { reload: true });
    expect(root.calls()).toContain('daemon-reload');
  });
});
