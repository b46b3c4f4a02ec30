import { createServer, type Server } from 'node:http';
import type { Logger } from '../../base/log.ts';

/** GET /metrics on loopback. A port that is taken is no reason to stop serving jobs: it is logged. */
export async function serveMetrics(port: number, render: () => string, log: Logger): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(render());
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
