import type { Properties } from '../world/state.ts';

/** `{properties}` with what the filters name (`*` stands for anything); nothing without a filter. */
export function chosenProperties(
  properties: Properties,
  filters: readonly string[] | undefined,
): { properties?: Properties } {
  if (filters === undefined) return {};
  const chosen = Object.entries(properties).filter(([name]) => filters.some((filter) => fits(filter, name)));
  return { properties: Object.fromEntries(chosen) };
}

function fits(filter: string, name: string): boolean {
  const [head = '', ...rest] = filter.toLowerCase().split('*');
  let at = head.length;
  const text = name.toLowerCase();
  if (!text.startsWith(head)) return false;
  for (const [index, part] of rest.entries()) {
    if (index === rest.length - 1)
      return part === '' || (text.endsWith(part) && text.length - part.length >= at);
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at === text.length;
}

/** What a body gives as properties: `{$type, $value}`, or the bare value. */
export function propertiesOf(body: unknown): Properties {
  return Object.fromEntries(
    Object.entries(Object(body) as Record<string, unknown>).map(([name, given]) => {
      const { $type, $value } = Object(given) as { $type?: string; $value?: unknown };
      if (typeof $type === 'string') return [name, { $type, $value }];
      return [name, { $type: typeNameOf(given), $value: given }];
    }),
  );
}

function typeNameOf(value: unknown): string {
  if (typeof value === 'boolean') return 'System.Boolean';
  return typeof value === 'number' ? 'System.Int32' : 'System.String';
}
