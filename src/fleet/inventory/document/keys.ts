import * as z from 'zod';

import type { Path } from './path.ts';

/** The keys that the schema knows at a path. */
export function keysAt(schema: z.core.$ZodType, path: Path): readonly string[] {
  const objects = schemasAt([schema], path).filter((each) => each instanceof z.ZodObject);
  return [...new Set(objects.flatMap((object) => Object.keys(object.shape)))];
}

/** The words that the schema takes at a path, beside other things. */
export function wordsAt(schema: z.core.$ZodType, path: Path): readonly string[] {
  const words = schemasAt([schema], path).flatMap((each) => {
    if (each instanceof z.ZodEnum) return Object.values(each.enum);
    return each instanceof z.ZodLiteral ? [...each.values] : [];
  });
  return words.filter((word) => typeof word === 'string');
}

/**
 * Where in the file a key belongs, the outermost places first: `defaults`, `hosts.NAME`; the empty text is the file
 * itself. Places inside another one are left out.
 */
export function placesOfKey(schema: z.core.$ZodType, key: string): readonly string[] {
  const found = placesBelow(schema, key, []);
  const byDepth = found.toSorted((left, right) => left.length - right.length);
  const places = [...new Set(byDepth.map((path) => path.join('.')))];
  return places.filter((place) => !places.some((outer) => place.startsWith(`${outer}.`)));
}

function placesBelow(schema: z.core.$ZodType, key: string, path: readonly string[]): readonly string[][] {
  return unwrap(schema).flatMap((open): readonly string[][] => {
    if (open instanceof z.ZodRecord) return placesBelow(open.valueType, key, [...path, 'NAME']);
    if (open instanceof z.ZodArray) return placesBelow(open.element, key, path);
    if (!(open instanceof z.ZodObject)) return [];
    const below = Object.entries(open.shape).flatMap(([name, child]) =>
      placesBelow(child as z.core.$ZodType, key, [...path, name]),
    );
    return [...(Object.hasOwn(open.shape, key) ? [[...path]] : []), ...below];
  });
}

function schemasAt(schemas: readonly z.core.$ZodType[], path: Path): readonly z.core.$ZodType[] {
  const open = schemas.flatMap(unwrap);
  const [key, ...rest] = path;
  if (key === undefined) return open;
  const inner = open.flatMap((schema): z.core.$ZodType[] => {
    if (schema instanceof z.ZodObject) {
      const child: z.core.$ZodType | undefined = schema.shape[String(key)];
      return child ? [child] : [];
    }
    if (schema instanceof z.ZodRecord) return [schema.valueType];
    if (schema instanceof z.ZodArray) return [schema.element];
    return [];
  });
  return inner.length === 0 ? [] : schemasAt(inner, rest);
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(unwrap);
  return [schema];
}
