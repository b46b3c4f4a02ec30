import { failFunction } from '../../../shared/base/shell.ts';
import type { Proxy } from '../../inventory/fleet.ts';
import { proxyExports } from '../proxy.ts';

/** Shell function `download URL FILE [SHA256]`; rpm itself needs curl, so it is there. */
const download = `download() {
  words=$(curl -fsSL --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 -o "$2" "$1" 2>&1) ||
    fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" "$words" \\
      'check the network, the proxy and the mirrors in the inventory'
  seen=$(sha256sum <"$2" | cut -c 1-64)
  [ "$seen" = "\${3:-$seen}" ] || fail "$1 cannot be downloaded" "the file with sha256 $3" "sha256 $seen" \\
    'check the network, the proxy and the mirrors in the inventory'
}`;

export function downloader(proxy: Proxy): string {
  return [...proxyExports(proxy), failFunction, download].join('\n');
}
