/** Shell functions that the scripts of several package managers begin with. */

/** `await_first_boot`: a first boot installs packages, too, and ends on its own. */
export const awaitFirstBoot = `await_first_boot() {
  if [ -x /usr/bin/cloud-init ] && [ ! -e /run/cloud-init/result.json ]; then
    echo 'waiting for cloud-init to end'
    timeout 1200 cloud-init status --wait >/dev/null || :
  fi
}`;

/** `newest NAME PREFIX`: of what `offered` says, the first that begins so without its epoch, which is the packager's. */
export const newestOffered = `newest() {
  offered "$1" | awk -v prefix="$2" '{ bare = $0; sub(/^[0-9]+:/, "", bare) } index(bare, prefix) == 1 { print; exit }'
}`;

/** `unforeseen PATTERN…`: names in, those out that no shell pattern matches, whatever their architecture. */
export const unforeseenNames = `unforeseen() {
  while read -r name; do
    for pattern in "$@"; do
      # It is meant as a pattern.
      # shellcheck disable=SC2254
      case \${name%%:*} in $pattern) continue 2 ;; esac
    done
    printf '%s\\n' "$name"
  done
}`;
