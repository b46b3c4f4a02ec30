import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { packageRecordSuite } from './package-record-cases.ts';

testSuite(packageRecordSuite);
