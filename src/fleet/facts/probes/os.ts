import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** os-release(5), with or without quotes. */
export const osProbe: FactProbe<Facts['os']> = {
  name: 'os',
  script: () => 'cat /etc/os-release',
  parse: ({ stdout }) => {
    const fields = new Map<string, string>();
    for (const line of stdout.split('\n')) {
      const [, key, value] = /^\s*([A-Z_0-9]+)=(.*)$/.exec(line) ?? [];
      if (key !== undefined && value !== undefined) fields.set(key, unquote(value.trim()));
    }
    const field = (key: string) => fields.get(key) ?? '';
    return {
      id: field('ID'),
      idLike: field('ID_LIKE').split(/\s+/).filter(Boolean),
      versionId: field('VERSION_ID'),
      codename: field('UBUNTU_CODENAME') || field('VERSION_CODENAME'),
      pretty: field('PRETTY_NAME') || `${field('ID')} ${field('VERSION_ID')}`.trim(),
    };
  },
};

function unquote(value: string): string {
  const [, quote, inner] = /^(["'])(.*)\1$/.exec(value) ?? [];
  if (inner === undefined) return value;
  return quote === '"' ? inner.replaceAll(/\\(["\\$`])/g, '$1') : inner;
}
