import { clip, columnsOf, pieces } from '../../shared/base/columns.ts';
import type { Question } from './ask.ts';

/** Columns that a question's own mark and the cursor take. */
const margin = 3;

/**
 * What a host says where a person is asked for an answer, as rows of a terminal. Each row has the host's name before it,
 * those too that the terminal would have begun by itself: no row can look like a question of ours, or of another host.
 */
function quotedRows(host: string, text: string, columns: number): string[] {
  const mark = `${clip(host, Math.max(8, Math.floor(columns / 3)))} │ `;
  const room = Math.max(8, columns - columnsOf(mark) - margin);
  return text.split('\n').flatMap((line) => pieces(line, room).map((piece) => mark + piece));
}

/** A question as it stands on a terminal: ours, and below it what its host says itself. */
export function questionText({ host, text, said }: Omit<Question, 'hidden'>, columns: number): string {
  return said === undefined ? text : [text, ...quotedRows(host, said, columns)].join('\n');
}
