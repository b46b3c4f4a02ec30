import type { Told } from '../change.ts';
import { fieldDetails, toldText } from '../told/texts.ts';

/** dockerd's configuration key by key, also where it has had none. */
export function toldDaemonJson(before: string | undefined, after: string): Told {
  const path = '/etc/docker/daemon.json';
  const told = toldText({ path, before, exists: before !== undefined, after });
  return { ...told, details: fieldDetails({ before: before ?? '{}', after }) };
}
