import { wrap } from './wrap.ts';

/** Programs that a next action calls. */
const program =
  /(?:^|: )(?=(?:azp-fleet|chmod|curl|journalctl|ls -l|nvidia-ctk|openssl|ping|read -rs|ssh|ssh-add|ssh-copy-id|ssh-keygen|sudo|systemctl|usermod|\(umask) |echo ')/;
/** What comes behind a command: its comment, or words for people. */
const behind = /\s+# |, |; then | \((?=[a-z])/;

interface Parts {
  readonly prose: string;
  readonly command: string;
  readonly comment: string;
  readonly rest: string;
}

function partsOf(text: string): Parts | undefined {
  const found = program.exec(text);
  if (found === null) return undefined;
  const from = found.index + found[0].length;
  const end = behind.exec(text.slice(from + 1));
  const to = end === null ? text.length : from + 1 + end.index;
  const after = text.slice(to).trim();
  const isComment = after.startsWith('# ');
  return {
    prose: text.slice(0, from).trim(),
    command: text.slice(from, to),
    comment: isComment ? after.slice(2) : '',
    rest: isComment ? '' : after.replace(/^[,;] /, ''),
  };
}

/**
 * What is to be done, in lines as `wrap` makes them, whose command can be copied: it is not broken where it fits on a line of
 * its own, else by backslashes, and every line of a comment behind it is one.
 */
export function wrapNext(text: string, width: number, indent: number): string[] {
  const broken = (part: string, less = 0): string[] =>
    part === '' ? [] : wrap(part, width - less, indent, indent).map((line) => line.trimStart());
  const parts = partsOf(text);
  if (parts === undefined || broken(text).length === 1) return wrap(text, width, indent, indent);
  const { prose, command, comment, rest } = parts;
  const together = broken([prose, command].filter(Boolean).join(' '));
  const isWhole = together.at(-1)?.endsWith(command) === true;
  const call = isWhole ? together : [...broken(prose), ...continued(command, broken)];
  const lines = [...call, ...broken(comment, 2).map((line) => `# ${line}`), ...broken(rest)];
  return lines.map((line, at) => (at === 0 ? line : ' '.repeat(indent) + line));
}

/** A command in lines that a shell takes as one. */
function continued(command: string, broken: (part: string, less?: number) => string[]): string[] {
  const whole = broken(command);
  if (whole.length === 1) return whole;
  const lines = broken(command, 2);
  return lines.map((line, at) => (at === lines.length - 1 ? line : `${line} \\`));
}
