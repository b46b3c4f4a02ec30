import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { sourceSuite } from './source-cases.ts';

testSuite(sourceSuite);
