import type { Readable } from 'node:stream';

/** Characters before a server's own line, and of that line, that are looked at: ssh allows 255 in it. */
const longestHead = 8192;
/** Characters of a line that are shown. */
const longestLine = 200;

/** What a server has said first. */
export interface Greeting {
  /** What it calls itself in its own line, `dropbear_2022.83`; empty until it has. */
  readonly software: string;
  /** The first line of one that has not, cut short; empty where it said nothing. */
  readonly instead: string;
}

/** Reads along with who reads the stream already. */
export function greetingOf(stream: Readable): () => Greeting {
  let head = '';
  let software = '';
  const hear = (chunk: Buffer): void => {
    head += chunk.subarray(0, longestHead).toString('latin1');
    software = /^SSH-[\d.]+-([\x21-\x7e]*)[ \r\n]/m.exec(head)?.[1] ?? '';
    if (software !== '' || head.length > longestHead) stream.removeListener('data', hear);
  };
  stream.on('data', hear);
  return () => {
    const [first = ''] = head.trim().split(/\r?\n/);
    return { software, instead: /^SSH-/m.test(head) ? '' : first.slice(0, longestLine) };
  };
}
