import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Variable with the path of a file: the effects after which a run got its signal, one a line. */
export const effectsVariable = 'AZP_FLEET_LAB_EFFECTS';
/** Variable with a signal that the CLI handles, in place of SIGKILL. */
export const signalVariable = 'AZP_FLEET_LAB_SIGNAL';

/** With another signal than SIGKILL nothing on the host is killed, and the process goes on. */
export const signal = (process.env[signalVariable] ?? 'SIGKILL') as NodeJS.Signals;

let sent = false;

export function effectsIn(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** Returns the effects after which a run already got its signal. */
export function survived(): readonly string[] {
  return effectsIn(process.env[effectsVariable] ?? '');
}

/** Sends this process its signal the first time that this effect happens, once a run. */
export function effect(name: string): void {
  if (sent || survived().includes(name)) return;
  if (signal === 'SIGKILL') killSelf(name);
  record(name);
  process.kill(process.pid, signal);
}

/** Records the effect and kills this process with SIGKILL. */
export function killSelf(name: string): never {
  record(name);
  process.kill(process.pid, 'SIGKILL');
  throw new Error('outlived SIGKILL');
}

function record(name: string): void {
  sent = true;
  appendFileSync(process.env[effectsVariable] ?? '', `${name}\n`);
}
