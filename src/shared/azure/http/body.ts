/** Bytes of one answer: what a pool of ten thousand agents is listed in, all told of each (bench/RESULTS.md). */
export const longestAnswer = 64 * 1024 * 1024;

/** An answer that is longer than was agreed to; nothing of it was kept. */
export class TooLong extends Error {
  /** Bytes. */
  readonly limit: number;

  constructor(limit: number) {
    super(`more than ${limit} bytes`);
    this.limit = limit;
  }
}

/** The whole body as text. Throws TooLong as soon as it has, or says that it will have, more bytes than `limit`. */
export async function textWithin(response: Response, limit: number): Promise<string> {
  const { body, headers } = response;
  if (body === null) return '';
  if (Number(headers.get('content-length') ?? 0) > limit) {
    // Whoever does not read on ends the connection; that this can fail, too, changes nothing.
    await body.cancel().catch(() => undefined);
    throw new TooLong(limit);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the rest.
  for await (const part of body as ReadableStream<Uint8Array>) {
    bytes += part.byteLength;
    if (bytes > limit) throw new TooLong(limit);
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
