import { keywordGroups, type Outcome } from '../src/fleet/ssh/config/keywords.ts';
import { withTable } from './matrix-table.ts';

const words: Readonly<Record<Outcome, string>> = {
  obeyed: 'obeyed',
  irrelevant: 'irrelevant',
  unused: 'reported in one line, not used',
  refused: '**refused**',
};

/** Returns docs/ssh.md with the table of the keywords of ssh_config(5) between its two markers. */
export function withSshKeywords(page: string): string {
  const rows = keywordGroups.map(({ outcome, why, keywords }) => {
    const names = keywords.map(({ name, since, former }) => {
      const notes = [since, former && `before: ${former.join(', ')}`].filter(Boolean).join('; ');
      return notes === '' ? name : `${name} (${notes})`;
    });
    return `| ${words[outcome]}: ${why} | ${names.join(', ')} |`;
  });
  const table = ['| with the built-in client | keywords |', '| --- | --- |', ...rows, ''].join('\n');
  return withTable(page, 'src/fleet/ssh/config/keywords.ts', table);
}
