#!/usr/bin/env bash
# Trains klab's scenes on this machine and records the results: reports/recorded/<fingerprint>/train/*.json and a rendered
# picture. The pages reports/recorded/*/README.md come from them (reports/readme.sh --pages).
#
#   reports/train.sh [DATA [RUN...]]   DATA: a folder with lego_400, fox and albert, as far as you have them. RUN: these
#                                      only, of those named below
#
# KLAB names the program (default: ./klab). Nothing else should run on the machine meanwhile; it takes about two hours, of which one
# is for the reference configuration (11).
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
klab=$(readlink -f -- "${KLAB:-$root/klab}")
data=${1:-}
wanted=" ${*:2} "
runs=" 1_built_in_60 2_lego_400_120 3_lego_400_600 4_fox_300 5_albert_60 6_lego_400_adaptive_120 7_lego_400_voxels_300
 8_lego_400_gaussians_600 9_lego_400_frequency_300 10_fox_gaussians_600 11_lego_400_instant_ngp_3600 12_lego_400_quality_1200 "
runs=${runs//$'\n'/}
for run in $wanted; do
  [[ $runs == *" $run "* ]] || { echo "no run is called $run; there are:$runs" >&2; exit 2; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$klab" doctor --json >"$tmp/machine.json"
machine=$(sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p' "$tmp/machine.json" | head -n 1)
out=$root/reports/recorded/$machine
mkdir -p "$out/train"
mv "$tmp/machine.json" "$out/machine.json"

asked() { [[ $wanted == "  " || $wanted == *" $1 "* ]]; }
record() {  # NAME args of train...
  local name=$1
  shift
  asked "$name" || return 0
  "$klab" train "$@" --plan best --score all --out "$tmp/$name"
  cp "$tmp/$name/result.json" "$out/train/$name.json.new"
  mv "$out/train/$name.json.new" "$out/train/$name.json"
}
record 1_built_in_60 built-in --seconds 60
if asked 1_built_in_60; then
  "$klab" render "$tmp/1_built_in_60" --size 320 --out "$tmp/picture" --depth
  mkdir -p "$root/reports/pictures"
  mv "$tmp/picture/frame_0000.png" "$root/reports/pictures/scene.png"
  mv "$tmp/picture/frame_0000_depth.png" "$root/reports/pictures/scene_depth.png"
fi
if [[ -n $data && -d $data/lego_400 ]]; then
  record 2_lego_400_120 "$data/lego_400" --seconds 120
  record 3_lego_400_600 "$data/lego_400" --seconds 600
  record 6_lego_400_adaptive_120 "$data/lego_400" --seconds 120 --config "$root/examples/configs/adaptive_table.json"
  record 7_lego_400_voxels_300 "$data/lego_400" --seconds 300 --field voxels
  record 8_lego_400_gaussians_600 "$data/lego_400" --seconds 600 --field gaussians
  # A network of 8 x 256 is asked a few hundred times for each ray: at full size scoring would take longer than training.
  record 9_lego_400_frequency_300 "$data/lego_400" --downscale 4 --seconds 300 --field frequency
  record 11_lego_400_instant_ngp_3600 "$data/lego_400" --seconds 3600 --config "$root/examples/configs/instant_ngp.json"
  record 12_lego_400_quality_1200 "$data/lego_400" --seconds 1200 --config "$root/examples/configs/quality.json"
fi
if [[ -n $data && -d $data/fox ]]; then
  record 4_fox_300 "$data/fox" --downscale 4 --seconds 300
  record 10_fox_gaussians_600 "$data/fox" --downscale 4 --seconds 600 --field gaussians
fi
if [[ -n $data && -f $data/albert/albert.jpg ]] && asked 5_albert_60; then
  "$klab" fit-image "$data/albert/albert.jpg" --seconds 60 --json >"$tmp/image.json"
  mv "$tmp/image.json" "$out/train/5_albert_60.json"
fi
echo "recorded in ${out#"$root"/}/train; now: reports/readme.sh --pages"
