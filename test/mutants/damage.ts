/** One thing that went wrong in one line of a script. */
export interface Damage {
  readonly kind: 'line' | 'quotes' | 'test' | 'operator' | 'rest' | 'redirection' | 'number' | 'path';
  /** The damaged line. */
  readonly line: string;
}

type Swap = readonly [found: RegExp, put: string | ((found: string) => string)];

const swaps: Readonly<Record<Exclude<Damage['kind'], 'line'>, readonly Swap[]>> = {
  quotes: [
    // The target of a redirection falls apart in no shell, a count has nothing that could, echo puts words together.
    [/(?<![<>]|echo )"(?!\$#"|\$\(\([^"]*\)\)")(?=[^"]*\$)[^"]*"/g, (found) => found.slice(1, -1)],
    [/(?<=[\s=(])(?<!echo )'[^']*[\s*?$&|;<>(){}~#"\\`[][^']*'(?!\\)/g, (found) => found.slice(1, -1)],
  ],
  test: [
    [/(?<![\w'[])\[ (?!!)/g, '[ ! '],
    [/(?<![\w'[])\[ ! /g, '[ '],
    [/\bif (?!!|\[)/g, 'if ! '],
    [/\bif ! /g, 'if '],
    [/\bwhile (?!:)/g, 'until '],
    [/\buntil /g, 'while '],
    [/(?<= )-n(?= ["$])/g, '-z'],
    [/(?<= )-z(?= ["$])/g, '-n'],
    [/(?<=\[ (?:! )?)-f(?= ["$/])/g, '-d'],
    [/(?<=\[ (?:! )?)-d(?= ["$/])/g, '-f'],
    [/(?<=\[ (?:! )?)-e(?= ["$/])/g, '-d'],
  ],
  operator: [
    [/(?<=\s)&&(?=\s)/g, '||'],
    [/(?<=\s)\|\|(?=\s|$)/g, '&&'],
    [/(?<=" |\w )= /g, '!= '],
    [/(?<= )!= /g, '= '],
    [/ -eq /g, ' -ne '],
    [/ -lt /g, ' -le '],
    [/ -le /g, ' -lt '],
    [/ -gt /g, ' -ge '],
    [/ -ge /g, ' -gt '],
    [/##/g, '#'],
    [/%%/g, '%'],
    [/(?<=\$\{[\w?]+):-/g, ':+'],
    [/(?<=\$\{\w+):\+/g, ':-'],
    [/(?<=\w)\+(?=\d)/g, '-'],
  ],
  rest: [
    [/ \|\| (?:\{[^}]*\}|[^;})]*)/g, ''],
    [/ && (?:\{[^}]*\}|[^;})]*)/g, ''],
    [/ \| [^|;)]*/g, ''],
  ],
  redirection: [
    [/ ?\d?>>?(?:\/dev\/null|&\d)/g, ''],
    [/>>(?=["/$ ])/g, '>'],
    [/(?<!>|-|\d)>(?=["/$])(?!\/dev)/g, '>>'],
    [/ ?<\/dev\/null/g, ''],
  ],
  number: [
    [/(?<=[\s=(+"]|\s-)(?<!umask |return )\d+(?=[\s;)"]|$)/g, another],
    [/(?<=\breturn )[1-9]\d*/g, '0'],
    [/(?<=\bumask )022/g, '077'],
    [/(?<=\bumask )077/g, '022'],
  ],
  path: [
    [
      /(?<![\w.}*\-/]|[\w}]")\/(?:azp|bin|boot|dev(?!\/(?:null|urandom)\b)|etc|home|lib|opt|proc|root|run|sys|tmp|usr|var)(?:\/[\w.+-]+)*/g,
      (found) => `${found}X`,
    ],
  ],
};

function another(number: string): string {
  return String(Number(number) < 10 ? Number(number) + 1 : Number(number) * 2);
}

/** Every way in which one place of a line can be damaged. A line alone may be no script; what is damaged is not run here. */
export function damages(line: string): Damage[] {
  if (/^\s*(?:$|#|:$)/.test(line)) return [];
  const found = [
    { kind: 'line' as const, line: '' },
    { kind: 'line' as const, line: ':' },
    ...Object.entries(swaps).flatMap(([kind, list]) =>
      list.flatMap(([pattern, put]) =>
        [...line.matchAll(pattern)].map((match) => ({
          kind: kind as Damage['kind'],
          line:
            line.slice(0, match.index) +
            (typeof put === 'string' ? put : put(match[0])) +
            line.slice(match.index + match[0].length),
        })),
      ),
    ),
  ];
  return found.filter((each, at) => found.findIndex((other) => other.line === each.line) === at);
}
