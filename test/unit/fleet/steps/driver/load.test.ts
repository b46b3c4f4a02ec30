import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { loadSuite } from './load-cases.ts';

testSuite(loadSuite);
