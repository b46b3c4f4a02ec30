import { nearest } from '../../../shared/base/nearest.ts';
import type { HostSpec } from '../fleet.ts';
import type { Finding } from './host.ts';

/** Folders that cannot be built as the file says. `all`: also hosts with other mistakes. */
export function checkDockerfiles(hosts: readonly HostSpec[], all: readonly HostSpec[]): Finding[] {
  return hosts.flatMap((host) => [...checkImage(host), ...checkBuilder(host, all)]);
}

function checkImage({ name, image, dockerfile }: HostSpec): Finding[] {
  if (image === undefined || dockerfile === undefined) return [];
  return [
    {
      code: 'inventory.image-twice',
      path: ['hosts', name, 'dockerfile'],
      host: name,
      what: '{host} has both an image and a dockerfile',
      expected: 'one of them: a dockerfile is built on top of the agent image that the hosts build',
      next: 'take one of them out, or name the base of what is built with baseImage',
    },
  ];
}

function checkBuilder({ name, dockerfile }: HostSpec, hosts: readonly HostSpec[]): Finding[] {
  const path = ['hosts', name, 'dockerfile'];
  const { folder, builder, push } = dockerfile ?? {};
  if ((builder === undefined) !== (push === undefined))
    return [
      {
        code: 'inventory.builder',
        path,
        host: name,
        what:
          push === undefined
            ? '{host} is to get an image that is pushed nowhere'
            : '{host} is to get an image that no host pushes',
        expected: 'builder and push together, or neither: then each host builds its own',
        next: push === undefined ? 'add `push: REGISTRY/NAME`' : 'add `builder: HOST`',
      },
    ];
  if (builder === undefined) return [];
  const known = hosts.find((host) => host.name === builder);
  if (known === undefined) {
    const near = nearest(
      builder,
      hosts.map((host) => host.name),
    );
    return [
      {
        code: 'inventory.unknown-host',
        path: [...path, 'builder'],
        what: `there is no host ${builder}`,
        next: near === undefined ? 'name a host of this inventory' : `did you mean "${near}"?`,
      },
    ];
  }
  const own = known.dockerfile;
  if (own?.folder === folder && own?.builder === builder && own?.push === push) return [];
  return [
    {
      code: 'inventory.builder',
      path: [...path, 'builder'],
      host: name,
      what: `${builder} is to build the image of {host}, but has another dockerfile itself`,
      expected: 'the same folder, builder and push at both',
      next: `give ${builder} the same dockerfile, e.g. in the defaults or a group of both`,
    },
  ];
}
