/**
 * Shell functions. `bring_key ADDRESS FILE REPOSITORY [SHA256]`: a key to where it belongs, and to rpm's own; rpm itself needs curl, so
 * it is there. `put_source FILE TEXT` writes a repository, for all to read. They need the prelude.
 */
export const sourceFunctions = `bring_key() (
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  words=$(curl -fsSL --retry 3 --connect-timeout 20 --max-time 120 -o "$work/key" "$1" 2>&1) ||
    fail "$1 cannot be downloaded" 'the key of the package source' "$words" \\
      'check the network, the proxy and the mirrors in the inventory'
  grep -q 'BEGIN PGP PUBLIC KEY' "$work/key" ||
    fail "$1 is not the key of a package source" 'a PGP public key' "$(head -c 200 "$work/key")" 'check the mirror'
  seen=$(sha256sum <"$work/key")
  case \${4:-} in
    '' | "\${seen%% *}") ;;
    *) fail "$1 is another key than that of $3" "sha256 $4" "\${seen%% *}" 'check the mirror' ;;
  esac
  install -d -m 755 "\${2%/*}"
  install -m 644 "$work/key" "$2"
  wait_for_lock
  until rpm --import "$2"; do
    [ -n "$(package_lock_holder)" ] ||
      fail "rpm does not take the key of $3" 'a key that the host accepts' 'the messages above' \\
        'look at update-crypto-policies --show on the host: newer systems refuse old keys'
    wait_for_lock
  done
)
put_source() (
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  printf %s "$2" >"$work/source"
  install -d -m 755 "\${1%/*}"
  install -m 644 "$work/source" "$1"
)`;
