import type { Proxy } from '../../inventory/fleet.ts';
import { proxyExports } from '../proxy.ts';
import { aptPrelude } from './prelude.ts';

/** A bare system knows no authority at all. */
export const needAuthorities = `if [ ! -s /etc/ssl/certs/ca-certificates.crt ]; then
      update ''
      apt install ca-certificates
    fi`;

/** What a script begins with that fetches over https, by whatever way. */
export function downloader(proxy: Proxy): string {
  return [...proxyExports(proxy), aptPrelude, download, needAuthorities].join('\n');
}

/**
 * Shell function `download URL FILE [SHA256]`, by apt's own helper: a bare system has neither curl nor gpg, and the
 * helper honours apt's proxies. It needs `fail`.
 */
export const download = `download() {
  rm -f "$2"
  taken=yes
  words=$(/usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file "$1" "$2" \${3:+"SHA256:$3"} 2>&1) || taken=
  printf '%s\\n' "$words"
  [ -n "$taken" ] || fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" \\
    "$(printf '%s\\n' "$words" | sed -En 's/^(E|Error): (Failed to fetch [^ ]+ +)?//p' | head -n 1)" \\
    'check the network, the proxy and the mirrors in the inventory'
}`;
