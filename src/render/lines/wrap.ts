interface Line {
  readonly indent: number;
  readonly text: string;
}

/**
 * Text in lines of at most `width` columns, broken at spaces. The first line comes behind what has `firstIndent` columns,
 * and is empty where its first word only fits below; the others begin with `indent` spaces. A word that does not fit
 * behind these gets as many as it leaves; one longer than the width stays whole, so that a command can be copied.
 */
export function wrap(text: string, width: number, firstIndent: number, indent: number): string[] {
  const lines: Line[] = [];
  for (const paragraph of text.split('\n')) {
    let line = { indent: lines.length === 0 ? firstIndent : indent, text: '' };
    for (const word of paragraph.split(' ')) {
      const longer = line.text === '' ? word : `${line.text} ${word}`;
      if (line.indent + longer.length <= width) {
        line = { ...line, text: longer };
        continue;
      }
      const fits = word.length <= width;
      const isBelow = line.text === '' && (lines.length > 0 || !fits);
      if (!isBelow) lines.push(line);
      line = {
        indent: isBelow && lines.length === 0 ? firstIndent : behind(indent, word, width),
        text: word,
      };
    }
    lines.push(line);
  }
  return lines.map((line, at) => (at === 0 ? line.text : ' '.repeat(line.indent) + line.text));
}

/** As far in as wanted, or as the word leaves room for; a word that fits nowhere is not moved. */
function behind(indent: number, word: string, width: number): number {
  return word.length > width ? indent : Math.min(indent, width - word.length);
}
