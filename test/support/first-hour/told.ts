/** A mistake as the screen tells it. */
export interface Told {
  /** What is wrong, with its place; wrapped lines joined. */
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly next: string;
}

type Label = Exclude<keyof Told, 'what'>;

/** The problems and warnings that stand on a screen, in their order. */
export function toldOn(screen: string): Told[] {
  const found: { parts: Record<keyof Told, string[]>; at: keyof Told }[] = [];
  for (const line of screen.split('\n')) {
    const [, what] = /^\s*[✗!] (.*)$/u.exec(line) ?? [];
    const [, label, text] = /^\s+(expected|seen|next)\s+(.*)$/.exec(line) ?? [];
    if (what !== undefined) {
      found.push({ parts: { what: [what], expected: [], seen: [], next: [] }, at: 'what' });
      continue;
    }
    const last = found.at(-1);
    if (last === undefined) continue;
    if (label !== undefined) last.at = label as Label;
    if (label !== undefined || /^\s+\S/.test(line)) last.parts[last.at].push((text ?? line).trim());
  }
  return found.map(({ parts }) => ({
    what: parts.what.join(' '),
    expected: parts.expected.join(' '),
    seen: parts.seen.join(' '),
    next: parts.next.join(' '),
  }));
}
