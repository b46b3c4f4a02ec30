import { resolverTests } from '../../../../support/apt-world/resolver-tests.ts';

resolverTests('Ubuntu 24.04');
