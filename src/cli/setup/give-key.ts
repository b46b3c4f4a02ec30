import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { questionText } from '../../fleet/ssh/questions.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { sh } from '../../shared/base/shell.ts';
import { problemLines } from '../render/problem.ts';
import { askHidden, withoutSecretVariables } from './secrets.ts';
import type { Among } from './test-host.ts';
import { type HostChoice, lineWidth, print, typedPath, type Wizard } from './wizard-context.ts';

/** The default keys of ssh, in its order. */
const usualKeys = ['id_ed25519', 'id_ecdsa', 'id_rsa'] as const;

/**
 * Appends the public key to the login's authorized_keys, as ssh-copy-id does. The host asks for the password, which is
 * not stored. Creates a key if there is none.
 */
export async function giveKey(wizard: Wizard, host: HostChoice, among: Among): Promise<HostChoice> {
  const own = await ownKey(wizard, host);
  if (own === undefined) return host;
  const { context, prompts } = wizard;
  await prompts.once(`give ${own} to ${JSON.stringify(host)}`, async () => {
    const transport = wizard.openTransport(
      (question) => askHidden(wizard, questionText(question, context.stdout.columns ?? 80)),
      among.inventory,
    );
    try {
      const session = await transport.connect(among.describe(host), { signal: context.signal });
      const key = readFileSync(`${own}.pub`, 'utf8').trim();
      const { code, stderr } = await session.script(installKey(key), { as: 'login', signal: context.signal });
      await session.close();
      print(
        wizard,
        code === 0
          ? `✔ ${host.name} has the key ${own}.pub`
          : `✗ the key was not installed: ${stderr.trim()}`,
      );
    } catch (error) {
      if (!(error instanceof FleetError) || context.signal.aborted) throw error;
      wizard.say(...problemLines(error.problem, lineWidth(wizard)));
    } finally {
      await transport.close();
      for (const notice of wizard.notices()) print(wizard, notice);
    }
  });
  return isUsual(wizard, own) ? host : { ...host, identityFile: own };
}

/** Asks for the private key file. */
export async function nameKey(wizard: Wizard, host: HostChoice): Promise<HostChoice> {
  const { prompts } = wizard;
  const resolve = (text: string): string => typedPath(wizard, text);
  const text = await prompts.text('key', 'Private key file:', {
    default: path.join('~/.ssh', usualKeys[0]),
    check: (typed) => keyMistake(resolve(typed), typed),
  });
  return { ...host, identityFile: resolve(text) };
}

/** Returns the mistake in a key file, for example a public key, a folder or a missing file. */
function keyMistake(file: string, typed: string): string | undefined {
  if (file.endsWith('.pub')) return 'That is the public key; name the file without .pub';
  try {
    const text = readFileSync(file, 'utf8');
    return text.includes('PRIVATE KEY') ? undefined : `${typed} is not a private key`;
  } catch {
    return `${typed} cannot be read`;
  }
}

/** Returns the key to install: the named one, an existing one, or a new one. */
async function ownKey(wizard: Wizard, host: HostChoice): Promise<string | undefined> {
  const folder = path.join(wizard.context.home, '.ssh');
  const candidates = [host.identityFile, ...usualKeys.map((name) => path.join(folder, name))];
  const there = candidates.find((file) => file !== undefined && existsSync(`${file}.pub`));
  if (there !== undefined) return there;
  const file = path.join(folder, usualKeys[0]);
  if (existsSync(file)) {
    print(wizard, `${file} has no public key file. Next: ssh-keygen -y -f ${file} > ${file}.pub`);
    return undefined;
  }
  const make = await wizard.prompts.confirm('key.make', `No SSH key found. Create ${file}?`, true);
  if (!make) return undefined;
  return wizard.prompts.once('make key', async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await makeKey(file, withoutSecretVariables(wizard.context.env));
    print(wizard, `✔ ${file} created, without a passphrase`);
    return file;
  });
}

function makeKey(file: string, env: Record<string, string | undefined>): Promise<void> {
  const args = ['-q', '-t', 'ed25519', '-N', '', '-f', file];
  return new Promise((resolve, reject) => {
    execFile('ssh-keygen', args, { env, timeout: 30_000 }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      reject(
        new FleetError(
          {
            code: 'setup.key',
            what: 'key could not be created',
            seen: stderr.trim() === '' ? error.message : stderr.trim(),
            next: `create it: ssh-keygen -t ed25519 -f ${file}`,
          },
          { cause: error },
        ),
      );
    });
  });
}

/** Returns whether ssh uses this key by default. */
function isUsual({ context }: Wizard, file: string): boolean {
  return usualKeys.some((name) => path.join(context.home, '.ssh', name) === file);
}

/** Returns the script that appends a line to authorized_keys unless present; handles a missing final line break. */
export function installKey(key: string): string {
  return sh`umask 077
mkdir -p ~/.ssh
file=~/.ssh/authorized_keys
key=${key}
if [ -s "$file" ] && grep -qxF -e "$key" "$file"; then exit 0; fi
if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then echo >>"$file"; fi
printf '%s\n' "$key" >>"$file"`;
}
