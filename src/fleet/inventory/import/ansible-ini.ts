import { AnsibleGroups, type Vars } from './ansible-groups.ts';

/** An inventory of Ansible in its INI form. What cannot be read is left out, by its line. */
export function parseAnsibleIni(text: string): AnsibleGroups {
  const found = new AnsibleGroups();
  let [group, part] = ['ungrouped', 'hosts'];
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || /^[#;]/.test(line)) continue;
    const leave = (why: string): void => void found.leftOut.push({ what: `line ${at + 1}`, why });
    const section = /^\[([^\]:]+)(?::(\w+))?\]\s*(?:[#;].*)?$/.exec(line);
    if (section !== null) {
      [group, part] = [section[1]?.trim() ?? '', section[2] ?? 'hosts'];
      found.group(group);
      if (!['hosts', 'children', 'vars'].includes(part)) leave('Ansible knows no such section');
    } else if (part === 'children') {
      const child = line.split(/\s|#/)[0] ?? '';
      found.group(group).children.add(child);
      found.group(child);
    } else if (part === 'vars') {
      const variable = pair(line);
      if (variable === undefined) leave('no NAME=VALUE');
      else found.group(group).vars.set(variable[0], unquoted(variable[1]));
    } else if (part === 'hosts') {
      const words = wordsOf(line);
      const [host, ...rest] = words ?? [];
      const vars = varsOf(rest);
      if (host === undefined) leave('a quotation mark is not closed');
      else if (vars === undefined) leave('behind the host stands no NAME=VALUE');
      else found.addHosts(group, host, vars);
    }
  }
  return found;
}

function varsOf(words: readonly string[]): Vars | undefined {
  const pairs = words.map(pair);
  return pairs.includes(undefined) ? undefined : new Map(pairs.flatMap((each) => (each ? [each] : [])));
}

function pair(text: string): readonly [string, string] | undefined {
  const at = text.indexOf('=');
  return at < 1 ? undefined : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** As a shell would split the line, up to a comment; undefined: a quotation mark is not closed. */
function wordsOf(line: string): readonly string[] | undefined {
  const token = /\s+|#.*$|((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\#])+)/gy;
  const words: string[] = [];
  let end = 0;
  for (const { 0: whole, 1: word } of line.matchAll(token)) {
    end += whole.length;
    if (word !== undefined) words.push(word.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, plain));
  }
  return end === line.length ? words : undefined;
}

function plain(_whole: string, double?: string, single?: string, escaped?: string): string {
  return double?.replaceAll(/\\(["\\])/g, '$1') ?? single ?? escaped ?? '';
}

/** The value of a section of variables is a literal of Python's, of which we know text in quotes. */
function unquoted(text: string): string {
  const [, , inner] = /^(["'])(.*)\1$/.exec(text) ?? [];
  return inner ?? text.replace(/\s+#.*$/, '');
}
