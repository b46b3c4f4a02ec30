import * as z from 'zod';

import { inventoryFile } from './file.ts';

const variable = { type: 'string', pattern: '\\$\\{[A-Za-z_]' } as const;

/**
 * Returns the published JSON Schema (draft 7, best supported by editors), generated from the schema that validates.
 * A number, a flag or text with a pattern may also be `${VARIABLE}`.
 */
function inventoryJsonSchema(): object {
  const schema = z.toJSONSchema(inventoryFile, {
    io: 'input',
    target: 'draft-7',
    override: ({ jsonSchema, zodSchema }) => {
      if (jsonSchema.propertyNames !== undefined && zodSchema instanceof z.ZodRecord)
        jsonSchema.propertyNames = keyPattern(zodSchema);
      if (!isNarrow(jsonSchema)) return;
      const { description, ...literal } = jsonSchema;
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key);
      if (description !== undefined) jsonSchema.description = description;
      jsonSchema.anyOf = [literal, variable];
    },
  });
  return { ...schema, title: 'Inventory of azp-fleet' };
}

/** Returns the text of inventory.schema.json. */
export function inventorySchemaText(): string {
  return `${JSON.stringify(inventoryJsonSchema(), undefined, 2)}\n`;
}

/** Returns the pattern of keys, which cannot contain variables. */
function keyPattern(record: z.ZodRecord): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...pattern } = z.toJSONSchema(record.keyType, { target: 'draft-7' });
  return pattern;
}

function isNarrow(schema: z.core.JSONSchema.BaseSchema): boolean {
  const { type, enum: words, pattern, allOf } = schema;
  return (
    type === 'integer' ||
    type === 'number' ||
    type === 'boolean' ||
    words !== undefined ||
    pattern !== undefined ||
    (type === 'string' && allOf !== undefined)
  );
}
