/**
 * Hashed names of known_hosts: `|1|SALT|HASH`, where HASH is the HMAC-SHA1 (RFC 2104) of a name by SALT. Node's
 * createHmac takes several microseconds a call and keeps no state; a large fleet compares each name with each line. So
 * the state after the salt is kept for each line, and a comparison costs two blocks of SHA-1 (FIPS 180-4).
 */

/** Bytes of a block, and of a digest. */
const blockBytes = 64;
const digestBytes = 20;
const start = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];

/** A name, as the input of hashes by different salts: the blocks that follow the salt's block. */
export class HashInput {
  readonly blocks: readonly Int32Array[];

  constructor(name: string) {
    this.blocks = blocksOf(Buffer.from(name), blockBytes);
  }
}

/** One hashed name. */
export class HashedName {
  /** Two states of SHA-1, after the blocks of the inner and of the outer key, then the hash. */
  readonly #words: Int32Array;

  private constructor(salt: Buffer, hash: Buffer) {
    this.#words = new Int32Array(15);
    for (const [index, pad] of [0x36, 0x5c].entries()) {
      const key = Buffer.alloc(blockBytes, pad);
      for (const [at, byte] of salt.entries()) key[at] = byte ^ pad;
      const state = this.#words.subarray(index * 5, index * 5 + 5);
      state.set(start);
      compress(state, expanded(key, 0));
    }
    for (let word = 0; word < 5; word += 1) this.#words[10 + word] = hash.readInt32BE(word * 4);
  }

  /** Returns undefined for a text that OpenSSH does not accept either. */
  static parse(text: string): HashedName | undefined {
    const [, version, ...coded] = text.split('|');
    const [salt, hash, ...more] = coded.map((each) => Buffer.from(each, 'base64'));
    const isValid =
      version === '1' &&
      more.length === 0 &&
      salt?.length === digestBytes &&
      hash?.length === digestBytes &&
      text === `|1|${salt.toString('base64')}|${hash.toString('base64')}`;
    return isValid ? new HashedName(salt, hash) : undefined;
  }

  matches({ blocks }: HashInput): boolean {
    const words = this.#words;
    for (let word = 0; word < 5; word += 1) state[word] = words[word] ?? 0;
    for (const block of blocks) compress(state, block);
    for (let word = 0; word < 5; word += 1) outerBlock[word] = state[word] ?? 0;
    expand(outerBlock);
    for (let word = 0; word < 5; word += 1) state[word] = words[5 + word] ?? 0;
    compress(state, outerBlock);
    for (let word = 0; word < 5; word += 1) if (state[word] !== words[10 + word]) return false;
    return true;
  }
}

/** Reused by all comparisons, which do not overlap. */
const state = new Int32Array(5);
/** The block of the outer hash: a digest, which changes, and its padding after the key's block. */
const [outerBlock = new Int32Array(80)] = blocksOf(Buffer.alloc(digestBytes), blockBytes);

/** Returns the padded blocks of a message, expanded; `before`: bytes hashed before them. */
function blocksOf(message: Buffer, before: number): Int32Array[] {
  const length = Math.ceil((message.length + 9) / blockBytes) * blockBytes;
  const padded = Buffer.alloc(length);
  message.copy(padded);
  padded[message.length] = 0x80;
  padded.writeUInt32BE((message.length + before) * 8, length - 4);
  return Array.from({ length: length / blockBytes }, (_, index) => expanded(padded, index * blockBytes));
}

function expanded(bytes: Buffer, at: number): Int32Array {
  const words = new Int32Array(80);
  for (let word = 0; word < 16; word += 1) words[word] = bytes.readInt32BE(at + word * 4);
  expand(words);
  return words;
}

/** Computes words 16 to 79 of a block from the first 16. */
function expand(words: Int32Array): void {
  for (let at = 16; at < 80; at += 1) {
    const word = (words[at - 3] ?? 0) ^ (words[at - 8] ?? 0) ^ (words[at - 14] ?? 0) ^ (words[at - 16] ?? 0);
    words[at] = (word << 1) | (word >>> 31);
  }
}

/** Adds an expanded block to a state. */
function compress(to: Int32Array, words: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = to;
  for (let at = 0; at < 80; at += 1) {
    const mixed =
      at < 20
        ? ((b & c) | (~b & d)) + 0x5a827999
        : at < 40
          ? (b ^ c ^ d) + 0x6ed9eba1
          : at < 60
            ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
            : (b ^ c ^ d) + 0xca62c1d6;
    const next = (((a << 5) | (a >>> 27)) + mixed + e + (words[at] ?? 0)) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  to[0] = (to[0] ?? 0) + a;
  to[1] = (to[1] ?? 0) + b;
  to[2] = (to[2] ?? 0) + c;
  to[3] = (to[3] ?? 0) + d;
  to[4] = (to[4] ?? 0) + e;
}
