// The agent's client stores the server's addresses in a file below $XDG_CONFIG_HOME or ~/.config, if that folder
// exists, else below /usr/share. Without write permission, each connection tries eleven times, 0.8 s apart.
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from './waits.mjs';

/** The sum of these waits in milliseconds: 5 to 7 s until the agent listens, 7 s more with each job. */
const lost = { start: 6000, job: 7000 };

export async function rememberAddresses(when, speed, signal) {
  if (!canRemember(process.env, existsSync, isWritable)) await pause(lost[when], speed, signal);
}

export function canRemember({ XDG_CONFIG_HOME, HOME }, exists, mayWrite) {
  const own = XDG_CONFIG_HOME || (HOME && join(HOME, '.config'));
  return mayWrite(own && exists(own) ? own : '/usr/share');
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
