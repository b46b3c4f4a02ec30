import { SSHConfig } from 'ssh-config';

/** One directive of an ssh_config file with its place. */
export interface ConfigLine {
  /** Lower case. */
  readonly keyword: string;
  readonly args: readonly string[];
  /** Everything after the keyword, for options that take the rest of the line as it stands. */
  readonly rest: string;
  readonly file: string;
  readonly line: number;
}

/** Splits a file into directives. ssh-config tokenises; positions and the raw rest are ours. */
export function parseConfig(text: string, file: string): ConfigLine[] {
  const lines: ConfigLine[] = [];
  for (const [index, source] of text.split('\n').entries()) {
    const raw = source.replace(/[\s\f]+$/, '').replace(/^[\s\f]+/, '');
    if (raw === '' || raw.startsWith('#')) continue;
    const parsed = /^"?([^\s"=]+)"?\s*=?\s*(.*)$/.exec(raw);
    if (parsed === null) continue;
    const [, keyword = '', rest = ''] = parsed;
    lines.push({ keyword: keyword.toLowerCase(), args: tokens(keyword, rest), rest, file, line: index + 1 });
  }
  return lines;
}

function tokens(keyword: string, rest: string): string[] {
  // Any keyword that is not Host or Match tokenises plainly; those two would lose or regroup arguments.
  const name = /^(host|match)$/i.test(keyword) ? 'Include' : keyword;
  const [directive] = SSHConfig.parse(`${name} ${rest}`);
  if (directive === undefined || !('value' in directive)) return [];
  const { value } = directive;
  if (typeof value !== 'string') return value.map((item) => item.val);
  return value === '' && !rest.includes('""') ? [] : [value];
}
