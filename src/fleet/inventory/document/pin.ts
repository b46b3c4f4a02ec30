import { isMap, parseDocument } from 'yaml';

/** The inventory's text with these public keys under the hosts' `hostKeys`; comments and the rest stay. */
export function pinHostKeys(source: string, keys: ReadonlyMap<string, readonly string[]>): string {
  const document = parseDocument(source);
  for (const [host, pins] of keys) {
    if (!isMap(document.getIn(['hosts', host]))) document.setIn(['hosts', host], document.createNode({}));
    const list = document.createNode(pins);
    document.setIn(['hosts', host, 'hostKeys'], list);
  }
  return document.toString({ lineWidth: 0 });
}
