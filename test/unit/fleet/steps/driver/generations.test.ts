import { describe, expect, it } from 'vitest';

import {
  flavorFits,
  flavorFor,
  generationObstacle,
} from '../../../../../src/fleet/steps/driver/compatibility.ts';
import { generationOf } from '../../../../../src/fleet/steps/driver/generations.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';

type Flavor = 'auto' | 'open' | 'proprietary';

const spec = (branch: string, flavor: Flavor = 'auto') =>
  desiredOf({ driver: { branch, flavor } }).host.driver;
const host = (...ids: readonly string[]) =>
  factsOf({
    gpus: ids.map((deviceId, at) => ({ address: `0000:0${at + 1}:00.0`, deviceId, boundTo: undefined })),
  });

const gt710 = '128b';
const gtx1080 = '1b80';
const v100 = '1db4';
const t4 = '1eb8';
const a100 = '20b0';
const rtx3090 = '2204';
const rtx4090 = '2684';
const h100 = '2331';
const gh200 = '2342';
const b200 = '2901';
const rtx5090 = '2b85';
const b300 = '3182';
const gtx560 = '1200';
/** Of no known generation. */
const rubin = '3000';

describe('the generation of a device', () => {
  it.each([
    [gt710, 'Kepler'],
    [gtx1080, 'Pascal'],
    [v100, 'Volta'],
    [t4, 'Turing'],
    [a100, 'Ampere'],
    [rtx3090, 'Ampere'],
    [rtx4090, 'Ada'],
    [h100, 'Hopper'],
    [gh200, 'Grace Hopper'],
    [b200, 'Blackwell'],
    [rtx5090, 'Blackwell'],
    [b300, 'Blackwell'],
    ['31c0', 'Blackwell'],
    ['3340', 'Blackwell'],
    ['0191', 'Fermi'],
    ['06d1', 'Fermi'],
    ['0fc6', 'Kepler'],
    ['1023', 'Kepler'],
    ['1091', 'Fermi'],
    ['118f', 'Kepler'],
    [gtx560, 'Fermi'],
    ['13f2', 'Maxwell'],
    [rubin, 'newer'],
    ['30ff', 'newer'],
    ['3200', 'newer'],
    ['3380', 'newer'],
    ['ffff', 'newer'],
  ])('%s is %s', (id, name) => {
    expect(generationOf(id).name).toBe(name);
  });
});

describe('the branches of a generation', () => {
  it.each<[string, readonly string[], string, Flavor, string | undefined]>([
    ['Turing, first branch', [t4], '418', 'auto', undefined],
    ['Turing, branch too old', [t4], '410', 'auto', '418 is the first one that does'],
    ['Ampere, first branch', [a100], '450', 'auto', undefined],
    ['Ampere, branch too old', [rtx3090], '440', 'auto', '450 is the first one that does'],
    ['Ada, first branch', [rtx4090], '520', 'auto', undefined],
    ['Ada, branch too old', [rtx4090], '515', 'auto', '520 is the first one that does'],
    ['Hopper, first branch', [h100], '525', 'auto', undefined],
    ['Hopper, branch too old', [h100], '470', 'auto', '525 is the first one that does'],
    ['Grace Hopper, branch too old', [gh200], '515', 'auto', '525 is the first one that does'],
    ['Blackwell, first branch', [b200], '570', 'auto', undefined],
    ['Blackwell, branch too old', [rtx5090], '565', 'auto', '570 is the first one that does'],
    ['Pascal, last branch', [gtx1080], '580', 'auto', undefined],
    ['Pascal, branch too new', [gtx1080], '590', 'auto', '580 is the last one that does'],
    ['Kepler, last branch', [gt710], '470', 'auto', 'which no package repository for this host has'],
    ['Kepler, branch too new', [gt710], '580', 'auto', '470 is the last one that does'],
    ['Fermi', [gtx560], '580', 'auto', '390 is the last one that does'],
    ['Fermi, last branch', [gtx560], '390', 'auto', 'which no package repository for this host has'],
    ['a GPU above the table, with a branch of the inventory', [rubin], '640', 'auto', undefined],
    [
      'a GPU above the table, with proprietary modules',
      [rubin],
      '610',
      'proprietary',
      'needs open kernel modules',
    ],
    ['the last branch with proprietary modules', [a100], '610', 'proprietary', undefined],
    [
      'the first branch without proprietary modules',
      [a100],
      '615',
      'proprietary',
      'driver branch 615 has no proprietary kernel modules',
    ],
    ['a later branch', [t4], '620', 'proprietary', 'driver branch 620 has no proprietary kernel modules'],
    ['open modules, first branch', [a100], '515', 'open', undefined],
    [
      'open modules, branch without them',
      [a100],
      '510',
      'open',
      'driver branch 510 has no open kernel modules',
    ],
    ['open modules with Pascal', [gtx1080], '580', 'open', 'needs proprietary kernel modules'],
    ['proprietary modules with Blackwell', [b200], '580', 'proprietary', 'needs open kernel modules'],
    ['two GPUs that share a driver', [v100, t4], '580', 'auto', undefined],
    ['two GPUs without a common driver', [v100, b200], '580', 'auto', 'needs open kernel modules'],
    ['a display card and a GPU', [gt710, rtx4090], '580', 'auto', '470 is the last one that does'],
    ['no GPU', [], '580', 'auto', undefined],
  ])('%s', (_, ids, branch, flavor, expected) => {
    const obstacle = generationObstacle(host(...ids), spec(branch, flavor));
    if (expected === undefined) expect(obstacle).toBeUndefined();
    else expect(obstacle?.what).toContain(expected);
  });
});

describe('the next action', () => {
  it.each<[string, readonly string[], string, Flavor, string]>([
    [
      'a branch that is too new',
      [gtx1080],
      '595',
      'auto',
      'set driver: { branch: "580" } for this host in the inventory',
    ],
    [
      'a branch that is too old',
      [h100],
      '470',
      'auto',
      'set driver: { branch: "525" } or newer for this host in the inventory',
    ],
    [
      'a display card',
      [gt710, rtx4090],
      '580',
      'auto',
      'set gpus: { ignore: ["10de:128b"] } for this host if that is a display card, or move it to another host',
    ],
    [
      'a display card that an older branch supports with the GPU',
      [gtx1080, rtx4090],
      '595',
      'auto',
      'set driver: { branch: "580" } for this host in the inventory',
    ],
    [
      'two kinds of modules',
      [gtx1080, b200],
      '580',
      'auto',
      'set gpus: { ignore: ["10de:1b80"] } for this host if that is a display card, or move it to another host',
    ],
    [
      'modules that the branch does not have',
      [a100],
      '615',
      'proprietary',
      'set driver: { flavor: open } or auto for this host, or a branch up to 610',
    ],
  ])('%s', (_, ids, branch, flavor, next) => {
    expect(generationObstacle(host(...ids), spec(branch, flavor))?.next).toBe(next);
  });
});

describe('old generations, by method and system', () => {
  const ubuntu = {
    id: 'ubuntu',
    idLike: ['debian'],
    versionId: '24.04',
    codename: 'noble',
    pretty: 'Ubuntu',
  };
  const debian = { id: 'debian', idLike: [], versionId: '12', codename: 'bookworm', pretty: 'Debian' };
  const setIt = 'set driver: { method: distro, branch: "470" } for this host in the inventory';
  const leave = (id: string) =>
    `set gpus: { ignore: ["10de:${id}"] } for this host if that is a display card, or move it to another host`;

  it.each([
    ["Kepler by Ubuntu's packages", gt710, ubuntu, 'distro', '470', undefined],
    ["Kepler by Ubuntu's packages, branch too new", gt710, ubuntu, 'distro', '580', setIt],
    ["Kepler by NVIDIA's repository on Ubuntu", gt710, ubuntu, 'repo', '470', setIt],
    ["Kepler by NVIDIA's repository on Ubuntu, default branch", gt710, ubuntu, 'repo', '580', setIt],
    ['Kepler on Debian', gt710, debian, 'repo', '470', leave(gt710)],
    ["Kepler by Debian's packages", gt710, debian, 'distro', '470', leave(gt710)],
    ['Kepler by a .run file', gt710, debian, 'runfile', '470', undefined],
    ['Fermi on Ubuntu', gtx560, ubuntu, 'distro', '390', leave(gtx560)],
    ['Fermi on Ubuntu, default branch', gtx560, ubuntu, 'repo', '580', leave(gtx560)],
  ] as const)('%s', (_, id, os, method, branch, next) => {
    const desired = desiredOf({ driver: { branch, method } }).host.driver;
    expect(generationObstacle({ ...host(id), os }, desired)?.next).toBe(next);
  });
});

describe('a GPU above the table', () => {
  it.each([
    ['no branch in the inventory', { ...spec('580'), orNewer: true as const }, 'set driver: { branch: "…" }'],
    ['a branch in the inventory', spec('580'), undefined],
  ])('%s', (_, driver, next) => {
    const obstacle = generationObstacle(host(a100, rubin), driver);
    if (next === undefined) expect(obstacle).toBeUndefined();
    else expect(obstacle?.next).toContain(next);
  });
});

describe('the kind of modules', () => {
  it.each<[string, readonly string[], string, string]>([
    ['open if all GPUs support them', [t4, a100], '580', 'open'],
    ['proprietary if one GPU does not support open ones', [gtx1080, a100], '580', 'proprietary'],
    ['proprietary in a branch without open ones', [a100], '470', 'proprietary'],
    ['proprietary while open ones supported only data-centre GPUs', [rtx4090, h100], '535', 'proprietary'],
    ['open since they support all GPUs', [rtx4090], '550', 'open'],
    ['open if one GPU needs them', [h100, gh200], '535', 'open'],
  ])('%s', (_, ids, branch, expected) => {
    expect(flavorFor(host(...ids), spec(branch))).toBe(expected);
  });

  it('keeps loaded modules that support the GPUs', () => {
    const loaded = (open: boolean, ...ids: readonly string[]) => ({
      ...host(...ids),
      driver: { ...factsOf().driver, open },
    });
    expect(flavorFits(loaded(false, t4), spec('580'))).toBe(true);
    expect(flavorFits(loaded(false, b200), spec('580'))).toBe(false);
    expect(flavorFits(loaded(true, gtx1080), spec('580'))).toBe(false);
    expect(flavorFits(loaded(true, t4), spec('580', 'proprietary'))).toBe(false);
  });
});
