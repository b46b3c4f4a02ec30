import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Names the file of the effects after which a run was killed, one a line. */
export const effectsVariable = 'AZP_FLEET_LAB_EFFECTS';

export function effectsIn(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** The effects after which no run is killed any more. */
export function survived(): readonly string[] {
  return effectsIn(process.env[effectsVariable] ?? '');
}

/** This effect has just been made. The first time that it is, this process ends here and now. */
export function effect(name: string): void {
  if (!survived().includes(name)) die(name);
}

/** SIGKILL to ourselves. Nothing that is under way is finished, nothing is said to anybody. */
export function die(name: string): never {
  appendFileSync(process.env[effectsVariable] ?? '', `${name}\n`);
  process.kill(process.pid, 'SIGKILL');
  throw new Error('outlived SIGKILL');
}
