// Writes inventory.schema.json from the definition in src/fleet/inventory/schema. A test checks that it is current.
import { writeFileSync } from 'node:fs';

import { inventorySchemaText } from '../src/fleet/inventory/schema/json-schema.ts';

writeFileSync(new URL('../inventory.schema.json', import.meta.url), inventorySchemaText());
