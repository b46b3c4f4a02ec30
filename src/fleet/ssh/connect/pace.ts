import type { Readable } from 'node:stream';

/** Bytes of a connection that are read as fast as they come: facts, a status, the output of nearly every command. */
const atOnce = 1024 * 1024;
/** Bytes after which it is then the other hosts' turn, and milliseconds for that: 12.5 MiB a second at most. */
const portion = 256 * 1024;
const restMs = 20;
/**
 * Bytes that may lie there while nobody reads: the window of a channel is 2 MiB. A jump host that keeps to no window would
 * fill our memory with what it brings.
 */
const mostHeld = 8 * 1024 * 1024;

/**
 * Reads no faster than leaves time for other hosts, however fast one of them sends: what is not read stays in the network,
 * and by its windows with the host. To be called once somebody reads the stream.
 */
export function pace(stream: Readable): void {
  let left = atOnce;
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left > 0 || stream.isPaused()) return;
    left = portion;
    stream.pause();
    setTimeout(() => {
      if (stream.readableLength > mostHeld) stream.destroy(new Error('more was sent than was asked for'));
      else stream.resume();
    }, restMs);
  });
}

/** Calls back once when more bytes than that have come; what it returns ends the watch. */
export function watchLength(stream: Readable, limit: number, onMore: () => void): () => void {
  let left = limit;
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left >= 0) return;
    stop();
    onMore();
  };
  const stop = (): void => void stream.removeListener('data', count);
  stream.on('data', count);
  return stop;
}
