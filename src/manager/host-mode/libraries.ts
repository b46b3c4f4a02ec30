import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';

const commandMs = 30_000;

/** Parts of the agent that the loader resolves; tracing (lttng) is left out, the agent does without. */
const natives = [
  'libcoreclr.so',
  'libSystem.Native.so',
  'libSystem.IO.Compression.Native.so',
  'libSystem.Security.Cryptography.Native.OpenSsl.so',
];

/** What .NET opens by itself, so that ldd does not show it; as the agent's own config.sh and installer want them. */
const opened: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['libicu', /^\s*libicuuc\.so/m],
  ['libssl (1.1 or 3)', /^\s*libssl\.so\.(?:1\.1|3)\b/m],
];

/** What the host lacks, by the output of `ldd` on the natives and of `ldconfig -p`. Pure. */
function missingLibraries(ldd: string, ldconfig: string): readonly string[] {
  const unresolved = [...ldd.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name ?? '');
  const unopened = opened.filter(([, pattern]) => !pattern.test(ldconfig)).map(([name]) => name);
  return [...new Set([...unresolved, ...unopened])];
}

/** Throws what the host lacks for this unpacked agent: it would end at once, with a message of .NET's. */
export async function requireLibraries(command: RunCommand, agent: string): Promise<void> {
  const isDotnet = await access(join(agent, 'bin', 'libcoreclr.so')).then(
    () => true,
    () => false,
  );
  if (!isDotnet) return;
  const [ldd, ldconfig] = await Promise.all([
    command(
      'ldd',
      natives.map((name) => join(agent, 'bin', name)),
      commandMs,
    ),
    command('ldconfig', ['-p'], commandMs),
  ]);
  const missing = missingLibraries(ldd.output, ldconfig.output);
  if (missing.length === 0) return;
  throw new FleetError({
    code: 'host-mode.libraries',
    what: `the agent cannot run on this host: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
    next: `run azp-fleet provision, which installs them, or ${join(agent, 'bin', 'installdependencies.sh')} as root on the host`,
  });
}
