#!/usr/bin/env bash
# Makes the plans that klab ships with from recorded trainings: reports/plans/<instruction set>.json, for each field the rungs
# that its runs chose most often. A program has the plans that were there when it was built.
#
#   reports/plans.sh [FOLDER...]   FOLDER: a machine of reports/recorded with machine.json and train/*.json; default: each that
#                                  has trainings of every field on its processor. Two of one instruction set: the last one counts
#
# reports/train.sh records a machine. Where a program is built for more instruction sets than the best one (KLAB_ISAS), KLAB can name a
# script that calls it with --isa AVX2, which records the trainings of that one.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
plans=$(readlink -f -- "${PLANS:-$root/reports/plans}")
cd "$root"
folders=("$@")
if ((${#folders[@]} == 0)); then
  for folder in reports/recorded/*/; do
    all=1
    for field in hash voxels gaussians frequency; do
      grep -lqs "\"field\": \"$field\"" "$folder"train/*.json || all=0
    done
    ((all == 0)) || folders+=("${folder%/}")
  done
fi
((${#folders[@]} > 0)) || { echo "no folder of reports/recorded has trainings of every field: run reports/train.sh" >&2; exit 2; }
mkdir -p "$plans"
for folder in "${folders[@]}"; do
  [[ -f $folder/machine.json ]] || { echo "$folder: has no machine.json: name a folder of reports/recorded" >&2; exit 2; }
  mapfile -t results < <(grep -l '"plan"' "$folder"/train/*.json | sort -V)
  ((${#results[@]} > 0)) || { echo "$folder: has no training with a plan: run reports/train.sh there" >&2; exit 2; }
  "$klab" results --plans "$folder/machine.json" "${results[@]}" >"$plans/.new"
  name=$(sed -n 's/^  "instruction_set": "\([A-Z0-9_]*\)".*/\1/p' "$plans/.new")
  [[ -n $name ]] || { echo "$folder/machine.json: names no instruction set: write it with klab doctor --json" >&2; exit 2; }
  mv "$plans/.new" "$plans/$name.json"
  echo "reports/plans/$name.json from $folder"
done
