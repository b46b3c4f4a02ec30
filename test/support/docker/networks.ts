import type { ServerResponse } from 'node:http';
import type { StandInEngine } from './engine.ts';
import { json, labelFilter } from './reply.ts';

/** What the interface answers about networks; their ids are their names. */
export function answerNetworks(
  { networks, containers }: StandInEngine,
  method: string,
  name: string | undefined,
  url: URL,
  body: Buffer,
  response: ServerResponse,
): void {
  if (method === 'GET') {
    const matches = labelFilter(url);
    const found = [...networks].filter(([, labels]) => matches(labels));
    return json(
      response,
      200,
      found.map(([Name]) => ({ Id: Name, Name })),
    );
  }
  if (method === 'DELETE') {
    const isUsed = [...containers.values()].some(
      ({ body: { HostConfig } }) => HostConfig?.['NetworkMode'] === name,
    );
    if (isUsed) return json(response, 403, { message: `network ${name} has active endpoints` });
    networks.delete(name ?? '');
    return void response.writeHead(204).end();
  }
  const { Name, Labels = {} } = JSON.parse(body.toString()) as {
    Name: string;
    Labels?: Record<string, string>;
  };
  networks.set(Name, Labels);
  return json(response, 201, { Id: Name });
}
