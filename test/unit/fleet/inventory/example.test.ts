import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import { expect, test } from 'vitest';

import { inventorySchemaText } from '../../../../src/fleet/inventory/schema/json-schema.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import { inventoryFile } from '../../../../src/fleet/inventory/schema/file.ts';

const root = new URL('../../../../', import.meta.url);
const example = readFileSync(new URL('inventory.example.yaml', root), 'utf8');

test('inventory.example.yaml is a valid inventory', () => {
  const fleet = parseFleet(example, 'inventory.example.yaml', { env: {}, cwd: '/lab', home: '/home/me' });
  expect(fleet.hosts.map((host) => host.name)).toEqual(['h200-1', 'h200-2', 'rtx-box', 'a100-box']);
});

test('it shows every key, each with a comment', () => {
  const keys = [...new Set(keysOf(inventoryFile))];
  const missing = keys.filter((key) => !new RegExp(`(^|[ {#])${key}:`, 'm').test(example));
  expect(missing).toEqual([]);
  const uncommented = keys.filter(
    (key) => !example.split('\n').some((line) => new RegExp(`[ {]?${key}:.*# `).test(line)),
  );
  expect(uncommented).toEqual([]);
});

test('inventory.schema.json is current (npm run schema writes it)', () => {
  expect(readFileSync(new URL('inventory.schema.json', root), 'utf8')).toBe(inventorySchemaText());
});

test('the published schema accepts the example and rejects what the loader rejects', () => {
  const published = z.fromJSONSchema(JSON.parse(inventorySchemaText()));
  const inventory: unknown = parse(example);
  expect(published.safeParse(inventory).error?.issues).toBeUndefined();
  const wrong = { ...(inventory as object), hosts: { a: { port: 0 } } };
  expect(published.safeParse(wrong).success).toBe(false);
});

test('every key has a description for editors', () => {
  const schema: unknown = JSON.parse(inventorySchemaText());
  expect(undescribed(schema, '')).toEqual([]);
});

function keysOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, value]) => [key, ...keysOf(value)]);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return keysOf(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(keysOf);
  if (schema instanceof z.ZodRecord) return keysOf(schema.valueType);
  if (schema instanceof z.ZodArray) return keysOf(schema.element);
  return [];
}

function undescribed(node: unknown, at: string): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]: [string, unknown]) => {
    const inner = undescribed(value, `${at}/${key}`);
    if (!at.endsWith('/properties') || typeof value !== 'object' || value === null) return inner;
    return 'description' in value ? inner : [`${at}/${key}`, ...inner];
  });
}
