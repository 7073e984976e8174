#!/usr/bin/env bash
# Trains a scene in each precision for the same time, seed by seed, and says what that came to: a row a run, and the means.
#
#   reports/precisions.sh SCENE OUT [SECONDS [PRECISION...]]   default: 120 seconds, f32 bf16
#
# SEEDS (default "1 2 3") and KLAB (default: ./klab) from the environment. Precisions take turns within a seed, so that what the
# machine does meanwhile hits all of them; nothing else should run. Runs that are in OUT already, with their score, are kept.
# OUT/precisions.csv has the rows: precision,seed,steps,seconds,samples_per_second,psnr,ssim,skipped_steps.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
if (($# < 2)); then
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
scene=$1 out=$2 seconds=${3:-120}
precisions=("${@:4}")
((${#precisions[@]} > 0)) || precisions=(f32 bf16)
[[ $scene == built-in || -e $scene ]] || { echo "$scene: is not there; name a scene's folder, or built-in" >&2; exit 2; }
mkdir -p "$out"

number() { sed -n "s/^ *\"$2\": \([0-9.e+-]*\),\{0,1\}$/\1/p" "$1" | head -n 1; }
for seed in ${SEEDS:-1 2 3}; do
  for precision in "${precisions[@]}"; do
    run=$out/${precision}_$seed
    [[ -e $run/result.json ]] && grep -q '"score"' "$run/result.json" && continue
    rm -rf "$run"
    echo "training  $precision, seed $seed, $seconds s" >&2
    "$klab" train "$scene" --precision "$precision" --seed "$seed" --seconds "$seconds" --out "$run" >"$run.txt" 2>"$run.log" ||
      { tail -n 3 "$run.log" >&2; echo "$run: was not trained; its log is $run.log" >&2; exit 1; }
  done
done
rows=$out/precisions.csv.new
echo "precision,seed,steps,seconds,samples_per_second,psnr,ssim,skipped_steps" >"$rows"
for precision in "${precisions[@]}"; do
  for seed in ${SEEDS:-1 2 3}; do
    r=$out/${precision}_$seed/result.json
    skipped=$(number "$r" skipped_steps)
    # The mean stands outside of the list of views, with fewer spaces ahead of it.
    psnr=$(sed -n 's/^    "psnr": \([0-9.]*\),\{0,1\}$/\1/p' "$r") ssim=$(sed -n 's/^    "ssim": \([0-9.]*\),\{0,1\}$/\1/p' "$r")
    echo "$precision,$seed,$(number "$r" steps),$(number "$r" seconds_training),$(number "$r" samples_per_second),$psnr,$ssim,${skipped:-0}" >>"$rows"
  done
done
mv "$rows" "$out/precisions.csv"
awk -F, 'NR > 1 { n[$1]++; steps[$1] += $3; rate[$1] += $5; db[$1] += $6; square[$1] += $6 * $6; if (n[$1] == 1) order[++kinds] = $1 }
  END {
    printf "%-10s %6s %10s %14s %10s %12s\n", "precision", "seeds", "steps", "M samples/s", "PSNR, dB", "over seeds"
    for (k = 1; k <= kinds; k++) {
      p = order[k]; m = db[p] / n[p]; v = square[p] / n[p] - m * m
      printf "%-10s %6d %10.0f %14.3f %10.2f %9.2f dB\n", p, n[p], steps[p] / n[p], rate[p] / n[p] * 1e-6, m, sqrt(v > 0 ? v : 0)
    }
  }' "$out/precisions.csv"
echo "written   $out/precisions.csv"
