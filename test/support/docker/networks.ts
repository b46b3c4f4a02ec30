import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { StandInEngine } from './engine.ts';
import { json, labelFilter } from './reply.ts';

/** A network as the engine describes it in a list. */
export interface StandInNetwork {
  readonly Id: string;
  readonly Name: string;
  readonly Driver: string;
  readonly Scope: string;
  readonly EnableIPv6: boolean;
  readonly Internal: boolean;
  readonly Attachable: boolean;
  readonly IPAM: { readonly Driver: string; readonly Config: readonly { readonly Subnet: string }[] };
  readonly Options: Readonly<Record<string, string>>;
  readonly Labels: Readonly<Record<string, string>>;
}

/** Returns the network that the engine creates for a request. */
export function standInNetwork(asked: Partial<StandInNetwork> & { readonly Name: string }): StandInNetwork {
  return {
    Id: randomBytes(32).toString('hex'),
    Driver: 'bridge',
    Scope: 'local',
    EnableIPv6: false,
    Internal: false,
    Attachable: false,
    IPAM: { Driver: 'default', Config: [{ Subnet: '172.18.0.0/16' }] },
    Options: {},
    Labels: {},
    ...asked,
  };
}

/** Answers requests about networks. */
export function answerNetworks(
  engine: StandInEngine,
  method: string,
  name: string | undefined,
  url: URL,
  body: Buffer,
  response: ServerResponse,
): void {
  const { networks } = engine;
  if (method === 'GET') return json(response, 200, listed(engine, url));
  if (method === 'DELETE') {
    const network = networks.find(({ Id, Name }) => Id === name || Name === name);
    if (network === undefined) return json(response, 404, { message: `network ${name} not found` });
    if (isUsed(engine, network)) {
      return json(response, 403, {
        message: `error while removing network: network ${network.Name} id ${network.Id} has active endpoints`,
      });
    }
    networks.splice(networks.indexOf(network), 1);
    return void response.writeHead(204).end();
  }
  const asked = JSON.parse(body.toString()) as Partial<StandInNetwork> & { readonly Name: string };
  if (networks.some(({ Name }) => Name === asked.Name))
    return json(response, 409, { message: `network with name ${asked.Name} already exists` });
  const bridge = asked.Options?.[bridgeName];
  if (bridge !== undefined && networks.some(({ Options }) => Options[bridgeName] === bridge)) {
    return json(response, 403, {
      message: `cannot create network (${bridge}): conflicts with network: networks have same bridge name`,
    });
  }
  const network = standInNetwork({ ...asked, Options: { ...engine.networkDefaults, ...asked.Options } });
  networks.push(network);
  return json(response, 201, { Id: network.Id });
}

const bridgeName = 'com.docker.network.bridge.name';

/** The name filter matches parts of names. */
function listed({ networks }: StandInEngine, url: URL): readonly StandInNetwork[] {
  const { name = [] } = JSON.parse(url.searchParams.get('filters') ?? '{}') as { name?: string[] };
  const matches = labelFilter(url);
  return networks.filter(
    ({ Name, Labels }) => matches(Labels) && (name.length === 0 || name.some((part) => Name.includes(part))),
  );
}

/** Only running containers are in it. */
function isUsed({ containers }: StandInEngine, { Id, Name }: StandInNetwork): boolean {
  return [...containers.values()].some(
    ({ state, body: { HostConfig } }) =>
      state === 'running' && [Id, Name].includes(String(HostConfig?.['NetworkMode'])),
  );
}
