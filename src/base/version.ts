/** The version of package.json; a test holds the two together, and scripts/build.mjs refuses to build when they differ. */
export const version = '0.1.0';
