import type { ServerResponse } from 'node:http';

/** Docker frames stdout with stream 1. */
export function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = 1;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Whether labels fit the `filters` of a request: `NAME`, or `NAME=VALUE`. */
export function labelFilter(url: URL): (labels?: Readonly<Record<string, string>>) => boolean {
  const filters = JSON.parse(url.searchParams.get('filters') ?? '{}') as { label?: string[] };
  return (labels = {}) =>
    (filters.label ?? []).every((filter) => {
      const [key = '', value] = filter.split('=');
      return value === undefined ? key in labels : labels[key] === value;
    });
}
