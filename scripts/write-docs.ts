import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { commands } from '../src/cli/commands.ts';
import { commandReference } from './command-reference.ts';

writeFileSync(join(import.meta.dirname, '..', 'docs', 'commands.md'), commandReference(commands));
