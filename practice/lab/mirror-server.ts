// The lab's mirror, a separate process: serves each file from the first folder that has it. Arguments: address, port, folders.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';

const [address = '127.0.0.1', port = '0', ...folders] = process.argv.slice(2);

createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://mirror').pathname));
  const file = folders.map((folder) => join(folder, path)).find((each) => fileSize(each) !== undefined);
  const size = file === undefined ? undefined : fileSize(file);
  if (file === undefined || size === undefined || path.includes('..')) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
    return;
  }
  response.writeHead(200, { 'content-length': size, 'content-type': 'application/octet-stream' });
  if (request.method === 'HEAD') response.end();
  else createReadStream(file).pipe(response);
}).listen(Number(port), address);

function fileSize(file: string): number | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat?.isFile() === true ? stat.size : undefined;
}
