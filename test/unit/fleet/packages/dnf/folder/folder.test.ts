import { testSuite } from '../../../../../support/scratch/suite-tests.ts';
import { folderSuite } from './folder-cases.ts';
import { folderSimulationSuite } from './simulation-cases.ts';

testSuite(folderSuite);
testSuite(folderSimulationSuite);
