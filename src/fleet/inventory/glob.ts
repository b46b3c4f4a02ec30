/** Number ranges in brackets of a glob: `000-099,101`. A single number is a set of digits: `[12]`. */
const ranges = /^(?=.*[-,])\d{1,15}(?:-\d{1,15})?(?:,\d{1,15}(?:-\d{1,15})?)*$/;

/**
 * Returns a function that matches texts against a glob. `*` is any text, `?` one character, `[abc]` and `[0-9]` one of
 * these, `[000-099,101]` a number in one of these ranges, padded with zeros to the width of the range's first number.
 * Everything else is literal.
 */
export function glob(pattern: string): (text: string) => boolean {
  const numbers: string[] = [];
  const source = pattern.replaceAll(/\[[^\]^!]+\]|[\s\S]/g, (part) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (part.length === 1) return part.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
    const inner = part.slice(1, -1);
    if (!ranges.test(inner)) return `[${inner.replaceAll('\\', '\\\\')}]`;
    if (!/\d\d/.test(inner)) return `[${inner.replaceAll(',', '')}]`;
    numbers.push(inner);
    return '(?<!\\d)(\\d+)(?!\\d)';
  });
  const whole = new RegExp(`^${source}$`);
  return (text) => {
    const found = whole.exec(text);
    return found !== null && numbers.every((inner, index) => isIn(found[index + 1] ?? '', inner));
  };
}

function isIn(number: string, inner: string): boolean {
  return inner.split(',').some((range) => {
    const [first = '', last = first] = range.split('-');
    const [value, lowest, highest] = [Number(number), Number(first), Number(last)];
    return value >= lowest && value <= highest && number === String(value).padStart(first.length, '0');
  });
}
