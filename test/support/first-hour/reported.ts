/** A mistake as the screen reports it. */
export interface Reported {
  /** The problem with its place; wrapped lines joined. */
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly next: string;
  /** The next action as printed, line by line, without the margin. */
  readonly lines: string;
}

type Part = Exclude<keyof Reported, 'lines'>;

/** Returns the problems and warnings on a screen, in their order. */
export function reportedOn(screen: string): Reported[] {
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

/** Removes the continuation marks of commands and comments. */
function joined(lines: readonly string[]): string {
  return lines
    .map((line, at) => {
      const goesOn = line.startsWith('# ') && lines[at - 1]?.includes('# ') === true;
      return (goesOn ? line.slice(2) : line).replace(/ \\$/, '');
    })
    .join(' ');
}
