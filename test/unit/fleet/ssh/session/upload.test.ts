import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { uploadSuite } from './upload-cases.ts';

testSuite(uploadSuite);
