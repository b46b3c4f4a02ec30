// Writes inventory.schema.json from the definition in src/fleet/inventory/schema, and schemas/ from output-schemas.ts. Tests
// check that they are current.
import { mkdirSync, writeFileSync } from 'node:fs';

import { inventorySchemaText } from '../src/fleet/inventory/schema/json-schema.ts';
import { outputSchemaText, schemaFile, schemaNames } from './output-schemas.ts';

writeFileSync(new URL('../inventory.schema.json', import.meta.url), inventorySchemaText());
const folder = new URL('../schemas/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const command of schemaNames)
  writeFileSync(new URL(schemaFile(command), folder), outputSchemaText(command));
