#!/usr/bin/env bash
# Settings by name: --set, and what is refused.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder

echo '{"levels": 6, "log2_table": 12, "finest_resolution": 128, "batch_samples": 4096, "grid": 32, "width": 16}' >hash.json
"$klab" train --set levels=5 --set loss=mse built-in --config hash.json --downscale 16 --plan last --threads 2 --steps 2 --no-eval \
  --out run >run.txt 2>&1 || { cat run.txt; fail "train --set"; }
grep -q '"levels": 5' run/result.json || fail "--set levels=5 has no effect"
grep -q '"loss": "mse"' run/result.json || fail "--set loss=mse has no effect"
grep -q '"width": 16' run/result.json || fail "--set dropped the config"
refused '"level".*"levels"' "$klab" train --set level=5 built-in --out none
refused '"levels".*from 1 to 32' "$klab" train --set levels=50 built-in --out none
refused 'name=value' "$klab" train --set levels built-in --out none
refused '"first_grid".*--field voxels' "$klab" train --set first_grid=16 built-in --out none
refused 'leave out --set' "$klab" train --resume run --set levels=6
for option in --recompute '--resident 4' '--precision f16' '--workers 2' '--prefetch 3'; do
  # shellcheck disable=SC2086  # an option and its value
  refused 'only --field hash.*voxels' "$klab" train built-in --field voxels $option --steps 1 --out none
done
# Threads and buffers for pictures that take turns: here all stay in memory.
for option in '--workers 2' '--prefetch 3'; do
  # shellcheck disable=SC2086  # an option and its value
  refused_in_a_line "${option% *}: all [0-9]* pictures stay in memory.*leave it out, or give --resident" \
    "$klab" train built-in --config hash.json --downscale 16 --plan last --steps 1 $option --out none
done
# A preset gives way to the file, to --set and to other options.
"$klab" train --preset best --set levels=5 built-in --config hash.json --downscale 16 --plan last --threads 2 --steps 2 --no-eval \
  --out preset >preset.txt 2>&1 || { cat preset.txt; fail "train --preset"; }
has preset.txt '^preset    best: 300 s, .*steps_per_diagonal=1024'
for pair in '"levels": 5' '"width": 16' '"steps_per_diagonal": 1024' '"steps": 2,'; do
  grep -q "$pair" preset/result.json || fail "--preset best with --set, --config and --steps: no $pair in result.json"
done
refused_in_a_line '--preset slow: must be one of: fast, standard, best' "$klab" train --preset slow built-in --out none
refused_in_a_line 'leave out --preset' "$klab" train --resume run --preset fast
"$klab" train --help >help.txt
has help.txt 'fast: 12 s'
[[ ! -e none ]] || fail "a refused command left something behind"
echo "ok"
