import { describe, expect, it } from 'vitest';

import { driverRpms, enterpriseSystem, epel } from '../../../../practice/lab/enterprise-packages.ts';
import { mustBeTaken } from '../../../../practice/lab/rpm.ts';

const driver = driverRpms('580.95.05');
const all = [...enterpriseSystem, ...epel, ...driver];

describe('the stand-ins of rpm packages', () => {
  it.each(all.map(({ name, takenFrom }) => [name, takenFrom]))(
    'say where they are from: %s',
    (name, from) => {
      expect(() => mustBeTaken(name, from)).not.toThrow();
    },
  );

  it('are refused without a source, and with an unknown one', () => {
    const words = 'tool does not say what it was taken from: see rpmSources';
    for (const from of [undefined, 'hearsay', 'toString'])
      expect(() => mustBeTaken('tool', from)).toThrow(words);
  });

  it('find all that they require among each other', () => {
    const offered = new Set(
      all.flatMap(({ name, provides = [] }) => [name, ...provides.map((each) => each.replace(/ .*/, ''))]),
    );
    const required = all.flatMap(({ requires = [] }) => requires.map((each) => each.replace(/ .*/, '')));
    expect(required.filter((each) => !offered.has(each))).toEqual([]);
  });

  it('require what the driver’s spec does', () => {
    const { requires } = driver.find(({ name }) => name === 'nvidia-driver-cuda') ?? {};
    expect(requires).toEqual([
      'nvidia-driver-cuda-libs = 3:580.95.05',
      'nvidia-kmod-common = 3:580.95.05',
      'nvidia-persistenced = 3:580.95.05',
      'opencl-filesystem',
      'ocl-icd',
    ]);
  });
});
