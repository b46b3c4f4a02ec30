/** `gpu[01:04].lab`, `rack-[a:c]`, `n[1:9:2]` as Ansible has them: each name, or undefined where there are more than `most`. */
export function expandRange(pattern: string, most: number): readonly string[] | undefined {
  const found = /^([^[]*)\[([^\]:]+):([^\]:]+)(?::(\d+))?\](.*)$/.exec(pattern);
  if (found === null) return [pattern];
  const [, before = '', from = '', to = '', step = '1', after = ''] = found;
  const steps = valuesBetween(from, to, Math.max(1, Number(step)), most);
  const rest = expandRange(after, most);
  if (steps === undefined || rest === undefined || steps.length * rest.length > most) return undefined;
  return steps.flatMap((each) => rest.map((tail) => `${before}${each}${tail}`));
}

/** Numbers keep the zeros that the first one begins with; letters are single ones. */
function valuesBetween(from: string, to: string, step: number, most: number): readonly string[] | undefined {
  const numbers = /^\d{1,9}$/.test(from) && /^\d{1,9}$/.test(to);
  if (!numbers && !/^[A-Za-z]{2}$/.test(from + to)) return undefined;
  const [first, last] = numbers ? [Number(from), Number(to)] : [from.charCodeAt(0), to.charCodeAt(0)];
  const count = Math.floor((last - first) / step) + 1;
  if (count < 1 || count > most) return undefined;
  return Array.from({ length: count }, (_, at) => {
    const value = first + at * step;
    if (!numbers) return String.fromCharCode(value);
    return String(value).padStart(from.startsWith('0') ? from.length : 0, '0');
  });
}
