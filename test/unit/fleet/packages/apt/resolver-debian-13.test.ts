import { resolverTests } from '../../../../support/apt-world/resolver-tests.ts';

resolverTests('Debian 13');
