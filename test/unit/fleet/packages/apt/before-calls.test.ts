import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { expect, test } from 'vitest';

import { simulationFunctions } from '../../../../../src/fleet/packages/apt/simulation.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { factsOf } from '../../../../support/host.ts';

const system = platformOf(factsOf());
if (system === undefined) throw new Error('no system');

test.each(['bring', 'pin', 'source_added'])(
  'scripts before a transaction may call %s, also while packages are gathered for a bundle',
  (name) => {
    const script = apt.offline.gather({
      transactions: [],
      system,
      site: { mirrors: {}, proxy: { noProxy: [] } },
    });
    expect(script).toContain(`\n${name}() {`);
    expect(simulationFunctions).toContain(`\n${name}() {`);
  },
);
