import { readFileSync } from 'node:fs';

/** Returns the fenced blocks of a page in one language, without their fences. */
export function blocks(page: string, language: string): readonly string[] {
  const fenced = new RegExp(String.raw`^\`\`\`${language}\n([\s\S]*?)^\`\`\`$`, 'gm');
  return [...readFileSync(page, 'utf8').matchAll(fenced)].map(([, block = '']) => block);
}

/** A command as it is shown behind `$ `, with its continued lines, and what it prints. */
export interface Shown {
  readonly command: string;
  readonly output: string;
}

/** Returns the commands of a console block with their output. */
export function shownIn(block: string): readonly Shown[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [, command = '', output = ''] = /^((?:.*\\\n)*.*)\n([\s\S]*)$/.exec(text) ?? [];
      return { command, output };
    });
}

/** One call of curl: `-X METHOD`, `-u USER:PASSWORD`, `-d BODY`, and one URL. */
export interface CurlCall {
  readonly method: string;
  readonly url: string;
  readonly user?: string;
  readonly body?: string;
}

/** Parses a line that begins with curl; quoted words are read as a shell reads single quotes. */
export function curlCall(line: string): CurlCall {
  const [program, ...words] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  if (program !== 'curl') throw new Error(`no curl: ${line}`);
  const options = new Map<string, string>();
  const urls: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) urls.push(word);
    else if (!['-X', '-u', '-d'].includes(word)) throw new Error(`unknown option ${word}: ${line}`);
    else options.set(word, words[(at += 1)] ?? '');
  }
  const [url, ...others] = urls;
  if (url === undefined || others.length > 0) throw new Error(`not one URL: ${line}`);
  const user = options.get('-u');
  const body = options.get('-d');
  return {
    method: options.get('-X') ?? (body === undefined ? 'GET' : 'POST'),
    url,
    ...(user === undefined ? {} : { user }),
    ...(body === undefined ? {} : { body }),
  };
}

/** Sends the request to another server than the one that it names. */
export async function callInstead({ method, url, user, body }: CurlCall, origin: string) {
  const there = url.replace(/^https?:\/\/[^/]+/, origin);
  const response = await fetch(there, {
    method,
    ...(body === undefined ? {} : { body }),
    ...(user === undefined
      ? {}
      : { headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` } }),
  });
  return { status: response.status, text: await response.text() };
}
