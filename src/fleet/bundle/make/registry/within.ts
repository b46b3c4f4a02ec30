/** The body, as long as it has no more bytes than that. */
export async function* within(body: ReadableStream<Uint8Array>, limit: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > limit) throw new Error(`more than ${limit} bytes`);
    yield Buffer.from(part);
  }
}
