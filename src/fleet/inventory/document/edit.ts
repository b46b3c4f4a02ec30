import { Document, isMap, isSeq, parseDocument } from 'yaml';

/** Hosts to add to an inventory, by name, and their groups by name. */
interface AddedHosts {
  readonly hosts: ReadonlyMap<string, object>;
  readonly groups?: ReadonlyMap<string, readonly string[]>;
}

/** Adds hosts to the text of an inventory. Keeps comments; spacing and indentation become yaml's defaults. */
export function addHosts(source: string, { hosts, groups = new Map() }: AddedHosts): string {
  const document = parseDocument(source);
  for (const [group, members] of groups) {
    const path = ['groups', group, 'hosts'];
    if (!isMap(document.get('groups'))) insertBefore(document, 'groups', 'hosts');
    if (!isMap(document.getIn(['groups', group]))) document.setIn(['groups', group], document.createNode({}));
    const list = document.getIn(path);
    if (isSeq(list)) for (const member of members) list.add(document.createNode(member));
    else document.setIn(path, document.createNode(members, { flow: true }));
  }
  const before = document.get('hosts');
  if (!isMap(before)) document.set('hosts', document.createNode({}));
  else if (before.items.length === 0) before.flow = false;
  for (const [name, entry] of hosts)
    document.setIn(['hosts', name], document.createNode(entry, { flow: true }));
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** Inserts an empty map with that name, after a blank line. */
function insertBefore(document: Document, name: string, before: string): void {
  document.delete(name);
  const key = document.createNode(name);
  key.spaceBefore = true;
  const pair = document.createPair(key, document.createNode({}));
  const { contents } = document;
  if (!isMap(contents)) return;
  const at = contents.items.findIndex(({ key: each }) => String(each) === before);
  contents.items.splice(at === -1 ? contents.items.length : at, 0, pair as (typeof contents.items)[number]);
}

/** Sets the `hostKeys` of hosts in the text of an inventory; comments and other values are kept. */
export function pinHostKeys(source: string, keys: ReadonlyMap<string, readonly string[]>): string {
  const document = parseDocument(source);
  for (const [host, pins] of keys) {
    if (!isMap(document.getIn(['hosts', host]))) document.setIn(['hosts', host], document.createNode({}));
    const list = document.createNode(pins);
    document.setIn(['hosts', host, 'hostKeys'], list);
  }
  return document.toString({ lineWidth: 0 });
}
