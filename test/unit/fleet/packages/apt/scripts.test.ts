import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { agentLibrariesSuite } from './agent-libraries-cases.ts';
import { prepareSuite } from './prepare-cases.ts';
import { removalSuite } from './removal-cases.ts';
import { sourceSuite } from './source-cases.ts';

testSuite(sourceSuite);

testSuite(prepareSuite);

testSuite(removalSuite);

testSuite(agentLibrariesSuite);
