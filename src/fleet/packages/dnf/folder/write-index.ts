import { sh } from '../../../../shared/base/shell.ts';
import { indexPath } from './flat.ts';

/** What one package says of itself, a line a fact, its fields apart by tabs. */
const format = [
  String.raw`name\t%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t%{LONGSIZE}\n`,
  ...['PROVIDE', 'REQUIRE', 'CONFLICT', 'OBSOLETE'].map(
    (tag) => String.raw`[${tag.toLowerCase()}s\t%{${tag}NAME}\t%{${tag}FLAGS}\t%{${tag}VERSION}\n]`,
  ),
  String.raw`[file\t%{FILENAMES}\n]`,
].join('');

/**
 * Shell function \`write_index\`: of the packages in \`pool\` the one part of a repository's metadata that dnf resolves by, in
 * one form for the same packages (the fields are those of rpm-software-management/createrepo_c, xml_dump_primary.c). Of a
 * package's files those that others may name: what that program takes for such, /usr/libexec, and what a package in the pool asks for.
 * Weak dependencies are left out: nothing of ours follows them.
 */
export const writeIndex = sh`write_index() {
  mkdir -p ${indexPath.slice(0, indexPath.lastIndexOf('/'))}
  for file in pool/*.rpm; do
    printf 'package\t%s\t%s\t%s\n' "$file" "$(wc -c <"$file" | tr -d ' ')" "$(sha256sum <"$file" | cut -c 1-64)"
    rpm -qp --nosignature --qf ${format} "$file"
  done >facts
  awk -F '\t' '
    function text(value) {
      gsub(/&/, "\\&amp;", value)
      gsub(/</, "\\&lt;", value)
      gsub(/>/, "\\&gt;", value)
      gsub(/"/, "\\&quot;", value)
      return value
    }
    function evr(whole,   epoch, release) {
      epoch = "0"
      if (match(whole, /^[0-9]+:/)) {
        epoch = substr(whole, 1, RLENGTH - 1)
        whole = substr(whole, RLENGTH + 1)
      }
      release = ""
      if (match(whole, /-[^-]*$/)) {
        release = " rel=\"" text(substr(whole, RSTART + 1)) "\""
        whole = substr(whole, 1, RSTART - 1)
      }
      return " epoch=\"" epoch "\" ver=\"" text(whole) "\"" release
    }
    function relation(name, flags, version,   kind) {
      kind = word[int(flags / 2) % 8]
      return "<rpm:entry name=\"" text(name) "\"" (kind == "" ? "" : " flags=\"" kind "\"" evr(version)) "/>\n"
    }
    function finish(   at) {
      if (!open) return
      print "<format>"
      for (at = 1; at <= 4; at++) if (list[kinds[at]] != "") printf "<rpm:%s>\n%s</rpm:%s>\n", kinds[at], list[kinds[at]], kinds[at]
      printf "%s</format></package>\n", files
    }
    BEGIN {
      split("provides requires conflicts obsoletes", kinds, " ")
      word[1] = "LT"; word[2] = "GT"; word[4] = "EQ"; word[5] = "LE"; word[6] = "GE"
    }
    NR == FNR { if ($1 == "requires" && $2 ~ /^\//) asked[$2]; if ($1 == "package") count++; next }
    !head++ {
      print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
      printf "<metadata xmlns=\"http://linux.duke.edu/metadata/common\" xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\" packages=\"%d\">\n", count
    }
    $1 == "package" { finish(); open = 1; files = ""; split("", list); split("", seen); place = $2; bytes = $3; digest = $4 }
    $1 == "name" {
      printf "<package type=\"rpm\"><name>%s</name><arch>%s</arch><version epoch=\"%s\" ver=\"%s\" rel=\"%s\"/>\n", text($2), $6, $3, text($4), text($5)
      printf "<checksum type=\"sha256\" pkgid=\"YES\">%s</checksum><size package=\"%s\" installed=\"%s\"/>\n", digest, bytes, $7
      printf "<location href=\"%s\"/>\n", text(place)
    }
    $1 ~ /^(provides|requires|conflicts|obsoletes)$/ && $2 != "(none)" && $2 !~ /^rpmlib\(/ && !seen[$0]++ {
      list[$1] = list[$1] relation($2, $3, $4)
    }
    $1 == "file" && ($2 ~ /^[\/]etc[\/]|bin[\/]|^[\/]usr[\/](libexec[\/]|lib[\/]sendmail$)/ || $2 in asked) {
      files = files "<file>" text($2) "</file>\n"
    }
    END { finish(); print "</metadata>" }' facts facts >${indexPath}
  rm facts
}`;
