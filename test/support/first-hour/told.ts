/** A mistake as the screen tells it. */
export interface Told {
  /** What is wrong, with its place; wrapped lines joined. */
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly next: string;
  /** What is to be done as it stands there, line by line, without the margin. */
  readonly lines: string;
}

type Part = Exclude<keyof Told, 'lines'>;

/** The problems and warnings that stand on a screen, in their order. */
export function toldOn(screen: string): Told[] {
  const found: { parts: Record<Part, string[]>; at: Part }[] = [];
  for (const line of screen.split('\n')) {
    const [, what] = /^\s*[✗!] (.*)$/u.exec(line) ?? [];
    const [, label, text] = /^\s+(expected|seen|next)\s+(.*)$/.exec(line) ?? [];
    if (what !== undefined) {
      found.push({ parts: { what: [what], expected: [], seen: [], next: [] }, at: 'what' });
      continue;
    }
    const last = found.at(-1);
    if (last === undefined) continue;
    if (label !== undefined) last.at = label as Part;
    if (label !== undefined || /^\s+\S/.test(line)) last.parts[last.at].push((text ?? line).trim());
  }
  return found.map(({ parts }) => ({
    what: parts.what.join(' '),
    expected: parts.expected.join(' '),
    seen: parts.seen.join(' '),
    next: joined(parts.next),
    lines: parts.next.join('\n'),
  }));
}

/** Without what keeps the lines of a command, and those of a comment, together. */
function joined(lines: readonly string[]): string {
  return lines
    .map((line, at) => {
      const goesOn = line.startsWith('# ') && lines[at - 1]?.includes('# ') === true;
      return (goesOn ? line.slice(2) : line).replace(/ \\$/, '');
    })
    .join(' ');
}
