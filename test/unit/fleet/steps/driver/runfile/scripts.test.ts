import { testSuite } from '../../../../../support/scratch/suite-tests.ts';
import { fetchSuite } from './fetch-cases.ts';
import { runfileSuite } from './scripts-cases.ts';

testSuite(fetchSuite);
testSuite(runfileSuite);
