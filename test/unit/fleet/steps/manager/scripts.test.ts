import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { fetchRuntimeSuite, managerSuite, tokenSuite } from './scripts-cases.ts';

testSuite(managerSuite);
testSuite(fetchRuntimeSuite);
testSuite(tokenSuite);
