import { testSuite } from '../../../../../support/scratch/suite-tests.ts';
import { simulationSuite } from './simulation-cases.ts';

testSuite(simulationSuite);
