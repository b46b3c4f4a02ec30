import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { cdiSuite } from './cdi-cases.ts';

testSuite(cdiSuite);
