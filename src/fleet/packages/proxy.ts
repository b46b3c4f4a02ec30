import { sh } from '../../shared/base/shell.ts';
import type { Proxy } from '../inventory/fleet.ts';

/**
 * Exports for the length of one script. What the host's own configuration of its package manager says wins over them,
 * and its own use of it is left as it is.
 */
export function proxyExports({ http, https, noProxy }: Proxy): string[] {
  return [
    ...(http === undefined ? [] : [sh`export http_proxy=${http}`]),
    ...(https === undefined ? [] : [sh`export https_proxy=${https}`]),
    ...(noProxy.length === 0 ? [] : [sh`export no_proxy=${noProxy.join(',')}`]),
  ];
}
