import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { probeSuite } from './probe-cases.ts';

testSuite(probeSuite);
