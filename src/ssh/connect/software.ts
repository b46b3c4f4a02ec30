import type { Readable } from 'node:stream';

/** Characters before a server's own line, and of that line, that are looked at: ssh allows 255 in it. */
const longestHead = 8192;

/**
 * What a server calls itself in its first line, `dropbear_2022.83`; empty until it has. Reads along with who reads the
 * stream already.
 */
export function softwareOf(stream: Readable): () => string {
  let head = '';
  let software = '';
  const hear = (chunk: Buffer): void => {
    head += chunk.subarray(0, longestHead).toString('latin1');
    software = /^SSH-[\d.]+-([\x21-\x7e]*)[ \r\n]/m.exec(head)?.[1] ?? '';
    if (software !== '' || head.length > longestHead) stream.removeListener('data', hear);
  };
  stream.on('data', hear);
  return () => software;
}
