import type { RunningFake } from '../../../../practice/azure/start.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON of the answer; undefined without one. */
  readonly json: unknown;
}

/** Calls the fake as any client may: `path` below the organisation, version 7.1 unless the path names another. */
export function apiOf(fake: { readonly server: RunningFake }) {
  return async (method: string, path: string, body?: unknown): Promise<Answered> => {
    const version = path.includes('api-version') ? '' : `${path.includes('?') ? '&' : '?'}api-version=7.1`;
    const response = await fetch(`${fake.server.organization}${path}${version}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(':good-token').toString('base64')}`,
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json: unknown = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, json };
  };
}

/** The elements of a list that was answered. */
export function valueOf<T>({ json }: Answered, read: (each: Record<string, unknown>) => T): T[] {
  const { value = [] } = Object(json) as { value?: Record<string, unknown>[] };
  return value.map((each) => read(each));
}

/** What an agent is registered with, at the least. */
export const anAgent = (name: string, more: object = {}) => ({ name, version: '4.275.0', ...more });
