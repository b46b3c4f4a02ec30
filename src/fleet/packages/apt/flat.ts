/** Of a flat repository, seen from its root: apt's own name for it. */
export const indexName = 'Packages';

/**
 * Shell function `describe FOLDER`: what a repository says of its index. Without, apt 2.6 takes a folder for one only after
 * several attempts.
 */
export const describeFunction = `describe() {
  printf 'Date: Thu, 01 Jan 1970 00:00:00 UTC\\nSHA256:\\n %s %s ${indexName}\\n' \\
    "$(sha256sum <"$1/${indexName}" | cut -c 1-64)" "$(wc -c <"$1/${indexName}" | tr -d ' ')" >"$1/Release"
}`;
