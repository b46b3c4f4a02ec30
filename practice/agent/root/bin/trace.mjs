// The agent's own log, _diag/Agent_… and _diag/Worker_…: a few lines in the real one's form.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './settings.mjs';

/** @returns {(text: string, level?: 'INFO' | 'WARN' | 'ERR') => void} which never throws */
export function openTrace(program) {
  const now = () => new Date().toISOString();
  const started = now().slice(0, 19).replaceAll(/[-:]/gu, '').replace('T', '-');
  const file = join(root, '_diag', `${program}_${started}-utc.log`);
  return (text, level = 'INFO') => {
    try {
      mkdirSync(join(root, '_diag'), { recursive: true });
      appendFileSync(
        file,
        `[${now().slice(0, 19).replace('T', ' ')}Z ${level.padEnd(4)} ${program}] ${text}\n`,
      );
    } catch {}
  };
}
