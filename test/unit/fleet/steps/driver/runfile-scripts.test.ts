import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { runfileSuite } from './runfile-scripts-cases.ts';
import { fetchSuite } from './runfile-fetch-cases.ts';

testSuite(fetchSuite);
testSuite(runfileSuite);
