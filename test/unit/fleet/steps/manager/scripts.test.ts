import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { managerSuite } from './scripts-cases.ts';

testSuite(managerSuite);
