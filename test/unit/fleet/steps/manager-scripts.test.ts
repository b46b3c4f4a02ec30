import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { managerSuite } from './manager-scripts-cases.ts';

testSuite(managerSuite);
