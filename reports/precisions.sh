#!/usr/bin/env bash
# Trains a scene in each precision for the same time, seed by seed, and prints the results: a row a run, and the means.
#
#   reports/precisions.sh SCENE OUT [SECONDS [PRECISION...]]   default: 120 seconds, f32 bf16
#   reports/precisions.sh --markdown CSV                       the means of such rows as a table of Markdown
#
# SEEDS (default "1 2 3") and KLAB (default: ./klab) from the environment. Precisions take turns within a seed, so that other load on the
# machine hits all of them; nothing else should run. Runs that are in OUT already, with their score, are kept.
# OUT/precisions.csv has the rows: scene,precision,seed,steps,seconds,samples_per_second,psnr,ssim,skipped_steps.
set -euo pipefail
export LC_ALL=C  # awk and printf read and write numbers with a point
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
if (($# < 2)); then
  sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
# table text|markdown CSV: means over the seeds, precision by precision.
table() {
  awk -F, -v how="$1" 'NR > 1 {
      k = $1 "," $2; n[k]++; time[k] += $5; steps[k] += $4; rate[k] += $6; db[k] += $7; square[k] += $7 * $7
      if (n[k] == 1) order[++kinds] = k
    }
    END {
      if (how == "markdown") {
        print "| scene | precision | seeds | trained | steps | samples per second | PSNR, mean | standard deviation over seeds |"
        print "|---|---|---|---|---|---|---|---|"
        row = "| %s | %s | %d | %.0f s | %.0f | %.2f M | %.2f dB | %.2f dB |\n"
      } else {
        printf "%-10s %-10s %6s %8s %10s %14s %10s %12s\n", "scene", "precision", "seeds", "seconds", "steps", "M samples/s", "PSNR, dB", "over seeds"
        row = "%-10s %-10s %6d %8.0f %10.0f %14.3f %10.2f %9.2f dB\n"
      }
      for (i = 1; i <= kinds; i++) {
        k = order[i]; m = db[k] / n[k]; v = square[k] / n[k] - m * m
        split(k, name, ",")
        printf row, name[1], name[2], n[k], time[k] / n[k], steps[k] / n[k], rate[k] / n[k] * 1e-6, m, sqrt(v > 0 ? v : 0)
      }
    }' "$2"
}
if [[ $1 == --markdown ]]; then
  table markdown "$2"
  exit 0
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
    "$klab" train "$scene" --precision "$precision" --seed "$seed" --seconds "$seconds" --score all --out "$run" >"$run.txt" 2>"$run.log" ||
      { tail -n 3 "$run.log" >&2; echo "$run: was not trained; its log is $run.log" >&2; exit 1; }
  done
done
rows=$out/precisions.csv.new
echo "scene,precision,seed,steps,seconds,samples_per_second,psnr,ssim,skipped_steps" >"$rows"
for precision in "${precisions[@]}"; do
  for seed in ${SEEDS:-1 2 3}; do
    r=$out/${precision}_$seed/result.json
    skipped=$(number "$r" skipped_steps)
    # The mean stands outside of the list of views, with fewer spaces ahead of it.
    psnr=$(sed -n 's/^    "psnr": \([0-9.]*\),\{0,1\}$/\1/p' "$r") ssim=$(sed -n 's/^    "ssim": \([0-9.]*\),\{0,1\}$/\1/p' "$r")
    echo "$(basename "$scene"),$precision,$seed,$(number "$r" steps),$(number "$r" seconds_training),$(number "$r" samples_per_second),$psnr,$ssim,${skipped:-0}" >>"$rows"
  done
done
mv "$rows" "$out/precisions.csv"
table text "$out/precisions.csv"
echo "written   $out/precisions.csv"
