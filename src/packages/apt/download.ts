/**
 * Shell function `download URL FILE [SHA256]`, by apt's own helper: a bare system has neither curl nor gpg, and the
 * helper honours apt's proxies. It needs `fail`.
 */
export const download = `download() {
  rm -f "$2"
  /usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file "$1" "$2" \${3:+"SHA256:$3"} ||
    fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" 'the messages above' \\
      'check the network, the proxy and the mirrors in the inventory'
}`;
