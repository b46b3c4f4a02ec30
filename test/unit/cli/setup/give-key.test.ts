import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { giveKey, installKey, nameKey } from '../../../../src/cli/setup/give-key.ts';
import type { HostChoice } from '../../../../src/cli/setup/wizard-context.ts';
import { makeKey, publicKey } from '../../../support/own-sshd.ts';
import { answering, startWizard } from '../../../support/wizard-session.ts';

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'give-key-'))));
afterEach(() => rmSync(home, { recursive: true }));

const key = 'ssh-ed25519 AAAAC3Nz me@laptop';
const install = (): string => {
  const env = { ...process.env, HOME: home };
  execFileSync('/bin/sh', ['-eu'], { input: installKey(key), env });
  return readFileSync(join(home, '.ssh/authorized_keys'), 'utf8');
};

test('a key is installed once, readable only by its owner', () => {
  expect(install()).toBe(`${key}\n`);
  expect(install()).toBe(`${key}\n`);
  expect(statSync(join(home, '.ssh')).mode & 0o777).toBe(0o700);
  expect(statSync(join(home, '.ssh/authorized_keys')).mode & 0o777).toBe(0o600);
});

test('earlier lines stay, also without a final line break', () => {
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/authorized_keys'), 'ssh-rsa AAAA ann');
  expect(install()).toBe(`ssh-rsa AAAA ann\n${key}\n`);
});

/** Returns a host that accepts every script. */
function acceptingHost() {
  const scripts: string[] = [];
  const session = {
    script: (text: string) => {
      scripts.push(text);
      return Promise.resolve({ code: 0, stdout: '', stderr: '', durationMs: 1 });
    },
    close: () => Promise.resolve(),
  };
  const transport = { connect: () => Promise.resolve(session), close: () => Promise.resolve() };
  return { scripts, openTransport: () => transport as never };
}

const among = { describe: () => ({}) as never, entry: (host: HostChoice) => host, inventory: [] };

test('without a key a new one is created and installed on the host', async () => {
  const { scripts, openTransport } = acceptingHost();
  const setup = startWizard({ home, openTransport });
  const given = answering(setup, () => giveKey(setup.wizard, { name: 'box' }, among), [
    'No SSH key found. Create',
  ]);
  expect(await given).toEqual({ name: 'box' });
  const made = join(home, '.ssh/id_ed25519');
  expect(statSync(made).mode & 0o777).toBe(0o600);
  expect(scripts).toEqual([installKey(readFileSync(`${made}.pub`, 'utf8').trim())]);
  expect(setup.printed.join(' ')).toContain('✔ box has the key');
});

test('a named key is used; an invalid one is refused at the prompt', async () => {
  const file = makeKey(join(home, 'lab-key'));
  const setup = startWizard({ home });
  const named = setup.interview.run(() => nameKey(setup.wizard, { name: 'box' }));
  const { keyboard } = setup;
  await keyboard.answer(['Private key file', `${file}.pub`]);
  await keyboard.see('That is the public key');
  keyboard.stdin.write(`\u0015${join(home, 'nothing')}\r`);
  await keyboard.see('cannot be read');
  keyboard.stdin.write(`\u0015${file}\r`);
  expect(await named).toEqual({ name: 'box', identityFile: file });
  expect(publicKey(file)).toMatch(/^ssh-ed25519 /);
});

test('ssh-keygen inherits no token', async () => {
  const seen = join(home, 'seen');
  const program = `#!/bin/sh\nenv >${seen}\nexec /usr/bin/ssh-keygen "$@"\n`;
  writeFileSync(join(home, 'ssh-keygen'), program, { mode: 0o755 });
  const env = { PATH: `${home}:/usr/bin:/bin`, AZP_PAT: 'the-pat-itself', SUDO_PASSWORD: 'the-sudo-word' };
  const { openTransport } = acceptingHost();
  const setup = startWizard({ home, env, openTransport });
  const making = 'No SSH key found. Create';
  await answering(setup, () => giveKey(setup.wizard, { name: 'box' }, among), [making]);
  expect(readFileSync(seen, 'utf8')).not.toMatch(/the-(?:pat|sudo)/);
});
