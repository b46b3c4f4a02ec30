import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { speedDocs } from '../bench/results.ts';
import { commands } from '../src/cli/commands.ts';
import { readerBounds } from '../src/shared/base/reader-bounds.ts';
import { withAzureTables } from './azure-page.ts';
import { version } from '../src/shared/base/version.ts';
import { commandReference } from './command-reference.ts';
import { errorsPage } from './errors-page.ts';
import { type FaultTest, passedFile, withFaultTable } from './faults-page.ts';
import { findingsPage } from './findings-page.ts';
import { withBoundsTable } from './reader-bounds-table.ts';
import { withDnfMatrix } from './dnf-matrix.ts';
import { withHostMatrix } from './host-matrix.ts';
import { manPage } from './man-page.ts';
import { withScreens } from './screens-in-pages.ts';
import { withSshKeywords } from './ssh-keywords-table.ts';

const docs = join(import.meta.dirname, '..', 'docs');
const azure = join(docs, 'azure.md');
const security = join(docs, 'security.md');
const faultsPage = join(docs, 'faults.md');
const ssh = join(docs, 'ssh.md');
const systems = join(docs, 'systems.md');

writeFileSync(join(docs, 'commands.md'), commandReference(commands));
writeFileSync(join(docs, '..', 'man', 'azp-fleet.1'), manPage(commands, version));
writeFileSync(join(docs, 'errors.md'), errorsPage());
writeFileSync(security, withBoundsTable(readFileSync(security, 'utf8'), readerBounds));
writeFileSync(join(docs, 'findings.md'), findingsPage());
if (existsSync(passedFile)) {
  const passed = JSON.parse(readFileSync(passedFile, 'utf8')) as FaultTest[];
  writeFileSync(faultsPage, withFaultTable(readFileSync(faultsPage, 'utf8'), passed));
}
writeFileSync(systems, withDnfMatrix(withHostMatrix(readFileSync(systems, 'utf8'))));
writeFileSync(azure, withAzureTables(readFileSync(azure, 'utf8')));
writeFileSync(ssh, withSshKeywords(readFileSync(ssh, 'utf8')));
for (const [name, text] of Object.entries(speedDocs())) writeFileSync(join(docs, name), text);
for (const page of globSync('*.md', { cwd: docs })) {
  const file = join(docs, page);
  writeFileSync(file, withScreens(readFileSync(file, 'utf8')));
}
