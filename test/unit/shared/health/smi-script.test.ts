import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { smiSuite } from './smi-cases.ts';

testSuite(smiSuite);
