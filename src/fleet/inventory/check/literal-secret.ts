/** Shapes of Azure DevOps tokens: 52 characters of base32, or 84 with the issuer's mark; and of private keys. */
const shapes = [
  /^[a-z2-7]{52}$/,
  /^[A-Za-z0-9]{72,}AZDO[A-Za-z0-9]{4,}$/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** Whether a text looks like a secret that was pasted where a reference belongs. */
export function looksLikeSecret(text: string): boolean {
  return shapes.some((shape) => shape.test(text.trim()));
}
