/** `00000000:83:00.0`, `0000:83:00` and `83:00.0` all become `0000:83:00.0`. Anything else is returned in lower case. */
export function normalizeBusId(id: string): string {
  const match = /^(?:PCI:)?(?:([\da-f]{1,8}):)?([\da-f]{1,2}):([\da-f]{1,2})(?:\.([\da-f]))?$/i.exec(
    id.trim(),
  );
  if (match === null) return id.trim().toLowerCase();
  const [, domain = '0', bus = '', device = '', fn = '0'] = match;
  const digits = Number.parseInt(domain, 16).toString(16).padStart(4, '0');
  return `${digits}:${bus.padStart(2, '0')}:${device.padStart(2, '0')}.${fn}`.toLowerCase();
}
