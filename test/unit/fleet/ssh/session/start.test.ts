import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { framesSuite } from './frames-cases.ts';
import { pipeSuite } from './pipe-cases.ts';
import { startSuite } from './start-cases.ts';

testSuite(startSuite);
testSuite(framesSuite);
testSuite(pipeSuite);
