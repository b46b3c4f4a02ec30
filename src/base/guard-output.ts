import type { Redactor } from './redact.ts';

/** How long the possible beginning of a secret may wait for its end on a terminal, where somebody looks. */
const holdMs = 100;

/**
 * From now on everything written to the stream goes through the redactor, also a secret that is written in two
 * pieces. Returns what must be called at the end: it writes what is still held back.
 */
export function guardOutput(stream: NodeJS.WriteStream, redactor: Redactor): () => void {
  const write = stream.write.bind(stream);
  // The reader of a pipe may leave early (`| head`): that is no failure of ours.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const guarded = redactor.stream();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const rest = guarded.end();
    if (rest !== '') write(rest);
  };
  const guard = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ): boolean => {
    const callback = typeof encoding === 'function' ? encoding : done;
    const text = guarded.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    if (stream.isTTY && timer === undefined) timer = setTimeout(flush, holdMs).unref();
    return write(text, callback);
  };
  stream.write = guard;
  return () => {
    flush();
    stream.write = write;
  };
}
