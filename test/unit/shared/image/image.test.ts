import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { imageSuite } from './image-cases.ts';

testSuite(imageSuite);
