import { foreignValue } from '../../../shared/base/foreign-text.ts';

/** A value with `{host}` for the host's name in its texts, and at the beginning of its agents' names. */
export function withoutOwnName<T>(host: string, value: T): T {
  const escaped = host.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const own = new RegExp(`(?<![\\w.-])${escaped}(?!\\w)`, 'g');
  return foreignValue(value, (text) => text.replaceAll(own, '{host}'));
}
