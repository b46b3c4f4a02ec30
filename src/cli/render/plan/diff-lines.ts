import type { TextDiff } from '../../../fleet/steps/change.ts';
import type { Paint } from './marks.ts';

const styles = { '+': 'green', '-': 'red', '@': 'cyan' } as const;

/** What becomes of a file's text, as `diff -u` shows it. */
export function diffLines({ path, lines }: TextDiff, paint: Paint): string[] {
  return [
    paint('bold', path),
    ...lines.map((line) => {
      const sign = line.slice(0, 1);
      return sign === '+' || sign === '-' || sign === '@' ? paint(styles[sign], line) : line;
    }),
  ];
}
