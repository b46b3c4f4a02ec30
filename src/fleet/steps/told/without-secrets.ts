/** Names that a secret goes by, at the end of a key: `http-password`, `GITHUB_TOKEN`. */
const secretKey = String.raw`[\w.-]{0,64}(?:password|passwd|passphrase|secret|token|api[-_]?key|private[-_]?key)`;

const places: readonly (readonly [RegExp, string])[] = [
  // http://user:password@proxy
  [/(?<=\b[a-z][\w+.-]{0,32}:\/\/)[^\s/@"']+(?=@)/gi, '***'],
  [/(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^]*?(?=-----END|$)/g, '$1\n***\n'],
  // "token": "…"
  [new RegExp(String.raw`("${secretKey}"\s*:\s*)"(?:[^"\\]|\\.)*"`, 'gi'), '$1"***"'],
  // TOKEN=…, also within Environment="TOKEN=…"
  [new RegExp(String.raw`(^|[\s"'])(${secretKey}\s*=\s*)[^\s"']+`, 'gim'), '$1$2***'],
];

/**
 * A text of somebody's file with `***` where a secret may stand: users in addresses, private keys, values whose keys
 * say so. What we write has none; others may have put theirs there.
 */
export function withoutSecrets(text: string): string {
  return places.reduce((clean, [place, instead]) => clean.replaceAll(place, instead), text);
}
