import { createServer, type Server, type ServerResponse } from 'node:http';
import { prometheusContentType } from 'prom-client';
import type { Logger } from '../../shared/base/log.ts';

/** GET /metrics on loopback. A port that is taken is no reason to stop serving jobs: it is logged. */
export async function serveMetrics(
  port: number,
  render: () => Promise<string>,
  log: Logger,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method === 'GET' && request.url === '/metrics') void answer(response, render, log);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    server.once('error', (error) => {
      log.log('warn', 'no metrics: the port cannot be opened', { port, error });
      resolve();
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

async function answer(response: ServerResponse, render: () => Promise<string>, log: Logger): Promise<void> {
  try {
    const text = await render();
    response.writeHead(200, { 'content-type': prometheusContentType }).end(text);
  } catch (error) {
    log.log('error', 'the metrics cannot be put together', { error });
    response.writeHead(500).end();
  }
}
