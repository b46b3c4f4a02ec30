/**
 * Shell function `fail WHAT EXPECTED SEEN NEXT`: ends the script with the four lines that the CLI turns into a problem.
 */
export const failFunction = `fail() {
  printf 'failed: %s\\nexpected: %s\\nseen: %s\\nnext: %s\\n' "$1" "$2" "$3" "$4" >&2
  exit 1
}`;
