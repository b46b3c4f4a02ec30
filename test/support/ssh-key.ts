import ssh2 from 'ssh2';

/** Creates an ed25519 key pair in OpenSSH's form. ssh2 writes about one in 400 a byte short; such a pair is created again. */
export function sshKeyPair(): { readonly private: string; readonly public: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    const parsed = [pair.private, pair.public].map((text) => ssh2.utils.parseKey(text));
    if (!parsed.some((key) => key instanceof Error)) return pair;
  }
}
