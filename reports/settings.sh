#!/usr/bin/env bash
# Trains a scene with several settings, seed by seed, and prints what each gains over the first.
#
#   reports/settings.sh SCENE OUT LENGTH OPTIONS OPTIONS...   LENGTH: "--seconds 120" or "--steps 5000"; each OPTIONS: options of
#                                                             klab train in one word
#
#   reports/settings.sh lego_400 out "--seconds 300" "" "--preset best"
#   reports/settings.sh lego_400 out "--seconds 600" "--field gaussians" "--field gaussians --set antialias=yes"
#
# SEEDS (default "1 2 3") and KLAB (default: ./klab) from the environment. Settings take turns within a seed, so that other load on the
# machine hits all of them; nothing else should run. Runs that are in OUT already, with their score, are kept.
# OUT/settings.csv has the rows: setting,seed,steps,seconds,psnr,ssim; OUT/settings.txt the options of each setting.
set -euo pipefail
export LC_ALL=C  # awk and printf read and write numbers with a point
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
if (($# < 5)); then
  sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
scene=$1 out=$2 length=$3
shift 3
[[ $length =~ ^--(seconds|steps)\ [0-9.]+$ ]] || { echo "$0: LENGTH is '$length': write \"--seconds 120\" or \"--steps 5000\"" >&2; exit 2; }
settings=("$@")
mkdir -p "$out"
printf '%s\n' "${settings[@]}" >"$out/settings.new"
if [[ -f $out/settings.txt ]] && ! cmp -s "$out/settings.new" "$out/settings.txt"; then
  rm "$out/settings.new"
  echo "$0: $out holds runs with other settings, those of $out/settings.txt: name another folder" >&2
  exit 2
fi
mv "$out/settings.new" "$out/settings.txt"
# spaces, key, file: the mean over views stands outside of their list, with fewer spaces ahead of it.
number() { sed -n "s/^$1\"$2\": \([-0-9.e+]*\),\{0,1\}\$/\1/p" "$3" | head -n 1; }
for seed in ${SEEDS:-1 2 3}; do
  for i in "${!settings[@]}"; do
    run=$out/${i}_$seed
    if [[ -z $(number "    " psnr "$run/result.json" 2>/dev/null) ]]; then
      rm -rf "$run"
      # shellcheck disable=SC2086  # several options
      "$klab" train "$scene" --seed "$seed" $length ${settings[i]} --out "$run" >"$run.txt" 2>&1 ||
        { tail -n 5 "$run.txt" >&2; echo "$0: klab train ${settings[i]} failed; all it said: $run.txt" >&2; exit 2; }
    fi
  done
done
{
  echo setting,seed,steps,seconds,psnr,ssim
  for seed in ${SEEDS:-1 2 3}; do
    for i in "${!settings[@]}"; do
      file=$out/${i}_$seed/result.json
      echo "$i,$seed,$(number "  " steps "$file"),$(number "  " seconds_training "$file"),$(number "    " psnr "$file"),$(number "    " ssim "$file")"
    done
  done
} >"$out/settings.csv"
awk -F, -v OFS='\t' 'NR == FNR { options[NR - 1] = $0 == "" ? "(none)" : $0; next }
  FNR > 1 {
    n[$1]++; steps[$1] += $3; seconds[$1] += $4; db[$1] += $5
    if ($1 == 0) first[$2] = $5
    gain = $5 - first[$2]; gains[$1] += gain; squares[$1] += gain * gain
    if ($1 > most) most = $1
  }
  END {
    print "PSNR, dB", "gain, dB", "over seeds", "steps", "seconds", "options"
    for (i = 0; i <= most; i++) {
      m = gains[i] / n[i]; v = squares[i] / n[i] - m * m
      printf "%.2f\t%+.2f\t%.2f\t%.0f\t%.0f\t%s\n", db[i] / n[i], m, sqrt(v > 0 ? v : 0), steps[i] / n[i], seconds[i] / n[i], options[i]
    }
  }' "$out/settings.txt" "$out/settings.csv"
