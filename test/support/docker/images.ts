import type { ServerResponse } from 'node:http';
import type { StandInEngine } from './engine.ts';
import { json } from './reply.ts';

/** Answers requests about images. */
export function answerImages(
  engine: StandInEngine,
  method: string,
  path: string,
  url: URL,
  response: ServerResponse,
): void {
  if (path === '/images/json') {
    const filters = JSON.parse(url.searchParams.get('filters') ?? '{}') as { label?: string[] };
    const { label: labels = [] } = filters;
    return json(
      response,
      200,
      engine.images
        .filter((image) => labels.every((label) => label in image.labels))
        .map((image) => ({
          Id: image.id,
          RepoTags: [image.reference],
          Labels: image.labels,
          Created: image.created,
          Size: image.bytes,
        })),
    );
  }
  if (path === '/images/create') {
    const reference = `${url.searchParams.get('fromImage')}:${url.searchParams.get('tag') ?? 'latest'}`;
    const name = reference.replace(/:latest$/, '');
    if (!engine.images.some((image) => image.reference === name)) engine.addImage(name);
    return void response.writeHead(200).end('{"status":"Pull complete"}\n');
  }
  const verb = method === 'POST' ? path.split('/').at(-1) : undefined;
  if (verb === 'push') {
    // Docker up to 22 refuses a push without the header, even if the registry needs no login.
    if (response.req.headers['x-registry-auth'] === undefined)
      return json(response, 400, { message: 'Bad parameters and missing X-Registry-Auth: EOF' });
    const pushed = `${path.slice('/images/'.length, -'/push'.length)}:${url.searchParams.get('tag')}`;
    engine.pushed.push(pushed);
    return void response.writeHead(200).end('{"status":"Pushed"}\n');
  }
  const reference = decodeURIComponent(path.replace(/^\/images\//, '').replace(/\/(json|tag)$/, ''));
  const at = engine.images.findIndex((image) => image.reference === reference || image.id === reference);
  const image = engine.images[at];
  if (image === undefined) return json(response, 404, { message: `No such image: ${reference}` });
  if (verb === 'tag') {
    const name = `${url.searchParams.get('repo')}:${url.searchParams.get('tag')}`;
    engine.images.push({ ...image, reference: name });
    return void response.writeHead(201).end();
  }
  if (method !== 'DELETE')
    return json(response, 200, {
      Id: image.id,
      Config: { Labels: image.labels },
      RepoDigests: [reference.replace(/:[^:/]*$/, `@${image.id}`)],
    });
  if ([...engine.containers.values()].some(({ body }) => body.Image === image.id)) {
    return json(response, 409, {
      message: 'conflict: unable to remove: image is being used by a container',
    });
  }
  engine.images.splice(at, 1);
  return json(response, 200, [{ Deleted: image.id }]);
}

export function answerBuild(engine: StandInEngine, url: URL, response: ServerResponse): void {
  const labels = JSON.parse(url.searchParams.get('labels') ?? '{}') as Record<string, string>;
  const args = JSON.parse(url.searchParams.get('buildargs') ?? '{}') as Record<string, string>;
  engine.builds.push({ tag: url.searchParams.get('t') ?? '', args });
  const isTop = 'azp-fleet.under' in labels;
  const failed = isTop ? (engine.failedTop ?? engine.failedBuild) : engine.failedBuild;
  if (failed !== undefined)
    return void response.writeHead(200).end(failed.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const tag = url.searchParams.get('t') ?? '';
  // As in Docker the image that had the tag loses it.
  for (const [at, image] of engine.images.entries())
    if (image.reference === tag) engine.images[at] = { ...image, reference: '<none>' };
  engine.addImage(tag, labels);
  response.writeHead(200).end('{"stream":"Step 1/1 : FROM scratch\\n"}\n');
}
