import { badRequest, missingArgument } from './arguments.ts';
import type { FakeCall, Reply } from './reply.ts';

/** Resources whose writes say everything in path and query; Microsoft's client for Node sends `null` with them. */
const bodiless = new Set(['messages', 'updates', 'timelines']);

/** Undefined: what came with a write will do. An upload may be anything; all else is one JSON object or list. */
export function bodyRefusal({ method, path, text }: FakeCall, resource: string): Reply | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined;
  const uploads = resource === 'attachments' || (resource === 'logs' && !/\/logs\/?$/iu.test(path));
  if (uploads) return undefined;
  if (['', 'null'].includes(text.trim()))
    return bodiless.has(resource.toLowerCase()) ? undefined : missingArgument('body');
  return isObject(text) ? undefined : badRequest;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}
