#!/usr/bin/env bash
# Fills the generated blocks of README.md: the table of labs from the registry, and what `klab run` prints from a
# recorded run.
#
#   reports/readme.sh            runs the tour on this machine, records it, fills both blocks
#   reports/readme.sh FILE       takes the recorded output in FILE instead of running
#   reports/readme.sh --labs     the table of labs only
#
# A run is recorded as reports/recorded/<fingerprint>/run.txt beside machine.json, the record of the machine.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"

# fill NAME FILE: puts FILE between "<!-- generated: NAME" and "<!-- end: NAME -->".
fill() {
  local name=$1 file=$2
  grep -q "^<!-- generated: $name" README.md && grep -q "^<!-- end: $name -->" README.md ||
    { echo "README.md has no block called '$name'" >&2; exit 2; }
  awk -v name="$name" -v file="$file" '
    index($0, "<!-- end: " name " -->") == 1 { inside = 0 }
    !inside { print }
    index($0, "<!-- generated: " name) == 1 {
      inside = 1
      while ((getline line < file) > 0) print line
    }' README.md >README.md.new
  mv README.md.new README.md
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

./klab list --markdown >"$tmp/labs"
fill labs "$tmp/labs"
[[ ${1:-} == --labs ]] && exit 0

if [[ $# -gt 0 ]]; then
  recorded=$1
else
  ./klab doctor --json >"$tmp/machine.json"
  machine=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' "$tmp/machine.json" | head -n 1)
  mkdir -p "reports/recorded/$machine"
  recorded=reports/recorded/$machine/run.txt
  ./klab run >"$tmp/run.txt"
  mv "$tmp/run.txt" "$recorded"
  mv "$tmp/machine.json" "reports/recorded/$machine/machine.json"
fi
[[ -s $recorded ]] || { echo "$recorded is empty or not there" >&2; exit 2; }
{ echo '```'; cat "$recorded"; echo '```'; } >"$tmp/run"
fill run "$tmp/run"
echo "README.md shows ${recorded#"$root"/}"
