// Processes of a job: finds them, and kills those that it left.
import { readdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

export function osUser() {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid());
  }
}

/** A variable in the environment of every process of a job. */
export const mark = 'VSTS_PROCESS_LOOKUP_ID';

/** Kills the processes that a job has left, by the marker. */
export function killMarked(value) {
  for (const pid of pids()) {
    if (read(pid, 'environ').split('\0').includes(`${mark}=${value}`)) kill(pid);
  }
}

/** Kills a process and its descendants. */
export function killTree(root) {
  const parents = new Map(pids().map((pid) => [pid, Number(/\) \S (\d+)/u.exec(read(pid, 'stat'))?.[1])]));
  const below = (pid) => [
    pid,
    ...[...parents].filter(([, parent]) => parent === pid).flatMap(([child]) => below(child)),
  ];
  for (const pid of below(root)) kill(pid);
}

function pids() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

function read(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}
