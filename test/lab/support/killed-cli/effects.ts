import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Variable with the path of a file: the effects after which a run was killed, one a line. */
export const effectsVariable = 'AZP_FLEET_LAB_EFFECTS';

export function effectsIn(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** Returns the effects after which a run was already killed. */
export function survived(): readonly string[] {
  return effectsIn(process.env[effectsVariable] ?? '');
}

/** Kills this process the first time that this effect happens. */
export function effect(name: string): void {
  if (!survived().includes(name)) killSelf(name);
}

/** Records the effect and kills this process with SIGKILL. */
export function killSelf(name: string): never {
  appendFileSync(process.env[effectsVariable] ?? '', `${name}\n`);
  process.kill(process.pid, 'SIGKILL');
  throw new Error('outlived SIGKILL');
}
