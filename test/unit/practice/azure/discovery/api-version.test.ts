// Versions of the interface as the service takes and refuses them, by its own table of resources.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { askedVersion, negotiate } from '../../../../../practice/azure/discovery/api-version.ts';
import { locationOf, type ResourceLocation } from '../../../../../practice/azure/discovery/locations.ts';

function location(path: string): ResourceLocation {
  const found = locationOf(path);
  if (found === undefined) throw new Error(`no location for ${path}`);
  return found;
}

const pools = location('/_apis/distributedtask/pools');
const permissions = location('/vision/_apis/pipelines/pipelinepermissions/queue/1');
const limits = location('/_apis/distributedtask/resourcelimits');
const projects = location('/_apis/projects');

/** The version that is answered, or the type key of the refusal. */
function outcome(at: ResourceLocation, asked: string | undefined, method = 'GET') {
  const result = negotiate(at, method, asked);
  if ('version' in result) return result.version;
  expect(result.refused.status).toBe(400);
  return (result.refused.json as { typeKey: string }).typeKey;
}

describe('what is asked for, and what comes of it', () => {
  test.each<[string, ResourceLocation, string | undefined, string, string?]>([
    ['the newest released', pools, '7.1', '7.1'],
    ['an older one, which az asks for', pools, '5.1', '5.1'],
    ['the preview of one, which agents ask for', pools, '5.1-preview.1', '5.1-preview.1'],
    ['the oldest', pools, '1.0', '1.0'],
    ['a preview by its area alone', pools, '7.2-preview', '7.2-preview'],
    ['the preview that the node client asks for', pools, '7.2-preview.1', '7.2-preview.1'],
    ['a newer one without the flag', pools, '7.2', 'VssInvalidPreviewVersionException'],
    ['newer than the server', pools, '8.0', 'VssVersionOutOfRangeException'],
    ['newer than the server, preview', pools, '9.1-preview.1', 'VssVersionOutOfRangeException'],
    ['a form that is not there yet', pools, '7.2-preview.9', 'VssVersionOutOfRangeException'],
    ['older than the resource', limits, '4.1-preview', 'VssVersionOutOfRangeException'],
    ['a preview resource', permissions, '7.1-preview.1', '7.1-preview.1'],
    ['a preview resource without the flag', permissions, '7.1', 'VssInvalidPreviewVersionException'],
    ['an old preview resource without the flag', limits, '5.1', 'VssInvalidPreviewVersionException'],
    ['projects in the form that the node client knows', projects, '7.2-preview.4', '7.2-preview.4'],
    ['projects in the next form', projects, '7.2-preview.5', 'VssVersionOutOfRangeException'],
    ['a whole number', pools, '7', '7.0'],
    ['a leading v', pools, 'v7.1', '7.1'],
    ['blanks and large letters', pools, ' 5.1-PREVIEW.01 ', '5.1-preview.1'],
    ['none, reading', pools, undefined, '7.1'],
    ['none, reading a preview resource', permissions, undefined, '7.2-preview.1'],
    ['none, writing', pools, undefined, 'VssVersionNotSpecifiedException', 'POST'],
    ['none, changing', pools, undefined, 'VssVersionNotSpecifiedException', 'PATCH'],
    ['none, replacing', pools, undefined, 'VssVersionNotSpecifiedException', 'PUT'],
    ['none, deleting', pools, undefined, 'VssVersionNotSpecifiedException', 'DELETE'],
    ['nothing', pools, '', 'VssInvalidApiResourceVersionException'],
    ['a word', pools, 'latest', 'VssInvalidApiResourceVersionException'],
    ['another stage', pools, '7.1-beta', 'VssInvalidApiResourceVersionException'],
    ['a preview without its number', pools, '7.1-preview.', 'VssInvalidApiResourceVersionException'],
    ['three parts', pools, '7.1.1', 'VssInvalidApiResourceVersionException'],
    ['a negative one', pools, '-7.1', 'VssInvalidApiResourceVersionException'],
  ])('%s', (_, at, asked, expected, method) => {
    expect(outcome(at, asked, method)).toBe(expected);
  });

  test('the refusals say what the service says', () => {
    const message = (asked: string | undefined, method = 'GET') => {
      const result = negotiate(permissions, method, asked);
      return 'refused' in result ? (result.refused.json as { message: string; typeName: string }) : undefined;
    };
    expect(message('7.1')).toMatchObject({
      message:
        'The requested version "7.1" of the resource is under preview. The -preview flag must be supplied in the api-version for such requests. For example: "7.1-preview"',
      typeName:
        'Microsoft.VisualStudio.Services.WebApi.VssInvalidPreviewVersionException, Microsoft.VisualStudio.Services.WebApi',
    });
    expect(message('100.0')?.message).toBe(
      'The requested REST API version of 100.0 is out of range for this server. The latest REST API version this server supports is 7.2.',
    );
    expect(message(undefined, 'POST')?.message).toMatch(
      /^No api-version was supplied for the "POST" request\./u,
    );
    expect(message('x')?.message).toMatch(/^Invalid api version string: "x"\./u);
  });

  test('any text has an outcome, and only what is well formed is answered', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const result = outcome(pools, text);
        expect(result).toMatch(/^(?:\d+\.\d(?:-preview(?:\.\d+)?)?|Vss\w+)$/u);
      }),
    );
  });
});

describe('where the version is looked for', () => {
  const read = (query: string, accept?: string) =>
    askedVersion(new URLSearchParams(query), accept === undefined ? {} : { accept });
  test.each<[string, string | undefined, string | undefined]>([
    ['api-version=7.1', undefined, '7.1'],
    ['API-Version=7.1', undefined, '7.1'],
    ['api-version=7.1', 'application/json;api-version=5.1', '7.1'],
    ['poolName=a', 'application/json;api-version=5.1', '5.1'],
    ['', 'application/json; api-version=5.1-preview.1', '5.1-preview.1'],
    ['', 'application/json;api-version=7.1;excludeUrls=true', '7.1'],
    ['', 'application/zip; api-version=7.1, text/plain', '7.1'],
    ['', 'application/json', undefined],
    ['', '*/*', undefined],
    ['', undefined, undefined],
    ['api-version=', undefined, undefined],
    ['api-version=', 'application/json;api-version=5.1', '5.1'],
    ['', 'application/json;api-version=', undefined],
  ])('%s, Accept: %s: %s', (query, accept, expected) => {
    expect(read(query, accept)).toBe(expected);
  });
});
