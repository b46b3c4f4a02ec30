import type { ScriptSuite } from '../../../../../support/scratch/case.ts';
import {
  aptPrelude,
  consequenceFilters,
  download,
} from '../../../../../../src/fleet/packages/apt/prelude.ts';
import { offered } from '../apt-host.ts';
import { answerCases } from './answer-cases.ts';
import { driverWorldCases } from './driver-world-cases.ts';
import { roomCases } from './room-cases.ts';
import { simulatedHost } from './simulation-host.ts';
import { driver } from './simulation-world.ts';
import { sourceCases } from './source-cases.ts';
import { worldCases } from './world-cases.ts';

export const simulationSuite: ScriptSuite = {
  name: 'asking apt what it would do',
  elsewhere: [aptPrelude, consequenceFilters, download, driver.before ?? ''],
  given: (host) => {
    simulatedHost(host);
    offered(host, 'tool 5:2.1-1', 'tool 5:2.0,1-1');
  },
  cases: [...worldCases, ...driverWorldCases, ...sourceCases, ...answerCases, ...roomCases],
};
