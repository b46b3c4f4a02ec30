import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { fetchRuntimeSuite, managerSuite } from './scripts-cases.ts';

testSuite(managerSuite);
testSuite(fetchRuntimeSuite);
