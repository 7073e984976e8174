#!/usr/bin/env bash
# Records how fast this machine draws a model, plan by plan: reports/recorded/<fingerprint>/realtime.csv, which the lesson of lab 21 and the
# machine's page show.
#
#   reports/realtime.sh MODEL [ARGUMENT...]   MODEL: a run of klab train, with its scene; arguments of klab realtime
#
# The table on record is of 400 x 400 pixels: MODEL is that of reports/train.sh's 3_lego_400_600, trained with the same command.
# KLAB names the program (default: ./klab), RECORDED the folder of records; with RECORDED no page is made. Nothing else should run on the
# machine meanwhile: rows that other programs disturbed are refused.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
if (($# < 1)); then
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
for argument in "${@:2}"; do
  case $argument in
    --out | --out=* | --json) echo "$argument: rows go to the record; leave it out" >&2; exit 2 ;;
    --plans | --plans=*) echo "$argument: a record has all plans; leave it out" >&2; exit 2 ;;
  esac
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$klab" doctor --json >"$tmp/machine.json"
machine=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' "$tmp/machine.json" | head -n 1)
"$klab" realtime "$@" --out "$tmp/rows" | tee "$tmp/said"
if grep -q '^note      other programs kept' "$tmp/said" && [[ -z ${DISTURBED:-} ]]; then
  echo "nothing is recorded: other programs were busy; end them, or set DISTURBED=1 to record the rows as they are" >&2
  exit 1
fi
out=${RECORDED:-$root/reports/recorded}/$machine
mkdir -p "$out"
cp "$tmp/rows/realtime.csv" "$out/realtime.csv.new"
mv "$out/realtime.csv.new" "$out/realtime.csv"
[[ -e $out/machine.json ]] || mv "$tmp/machine.json" "$out/machine.json"
echo "recorded  $out/realtime.csv"
[[ -n ${RECORDED:-} ]] || KLAB=$klab "$root/reports/readme.sh" --pages
