#!/usr/bin/env bash
# klab scene as its users meet it: reports how it read a scene, draws it, and refuses unreadable ones; a COLMAP model written here
# by hand is learned by both trainers.
# ctest: slow
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder

"$klab" scene built-in --downscale 16 --out scene.png >built.txt || fail "does not show the built-in scene"
grep -q '^views     72 for training, 12 for testing' built.txt || { cat built.txt; fail "does not count the views"; }
grep -q '^box       the unit cube' built.txt || fail "does not say the box"
grep -q '^written   scene.png' built.txt || fail "does not say what it wrote"
grep -q PNG <<<"$(head -c 4 scene.png)" || fail "draws no picture"

# Five cameras on a quarter of a circle around (0, 0, 0), 4 away from it, that see gray pictures: world to camera is a turn about y.
mkdir -p set/sparse/0 set/images
for k in 0 1 2 3 4; do
  "$klab" scene built-in --downscale 40 --out "set/images/$k.png" >/dev/null  # any picture of 1600x800 will do
done
echo '3 SIMPLE_RADIAL 1600 800 1500 800 400 0.01' >set/sparse/0/cameras.txt
: >set/sparse/0/images.txt
for k in 0 1 2 3 4; do
  awk -v k="$k" 'BEGIN{a = 0.2 * k; printf "%d %.9f 0 %.9f 0 0 0 4 3 %d.png\n\n", k + 1, cos(a), sin(a), k}' >>set/sparse/0/images.txt
done
awk 'BEGIN{for (i = 0; i < 50; ++i) printf "%d %.3f %.3f %.3f 200 100 50 0.5\n", i, 0.3 * sin(i), 0.3 * cos(2 * i), 0.3 * sin(3 * i)}' \
  >set/sparse/0/points3D.txt
"$klab" scene set --pictures --downscale 8 --out set.png >set.txt || { cat set.txt; fail "does not read a COLMAP model"; }
grep -q 'COLMAP, text format' set.txt || { cat set.txt; fail "does not say the format"; }
grep -q '^camera    SIMPLE_RADIAL 200x100, focal length 187.5 px, middle 100 50, k1 0.01' set.txt || { cat set.txt; fail "does not say the lens"; }
grep -q '^held out  0.png' set.txt || { cat set.txt; fail "does not say what is held out"; }
grep -q '^points    50' set.txt || { cat set.txt; fail "does not count the points"; }
"$klab" scene set --json >set.json || fail "gives no JSON"
grep -q '"points": 50' set.json || fail "says no JSON"

"$klab" splat set --downscale 16 --steps 5 --plan last --degree 0 --out a.ply --export a.splat >splat.txt 2>&1 || { cat splat.txt; fail "no Gaussians"; }
grep -q "^start     50 Gaussians at all of the scene's 50 points" splat.txt || { cat splat.txt; fail "does not begin at the points"; }
[[ $(($(stat -c %s a.splat) % 32)) == 0 && -s a.splat ]] || fail "writes no .splat"
"$klab" splat set --downscale 16 --steps 2 --plan last --start a.splat >again.txt 2>&1 || { cat again.txt; fail "does not go on from a .splat"; }
grep -q '^start     the 50 Gaussians of a.splat' again.txt || { cat again.txt; fail "does not say where it began"; }
"$klab" splat set --downscale 16 --steps 2 --plan last --start random --initial 70 --degree 0 >random.txt 2>&1 || { cat random.txt; fail "no random start"; }
grep -q '^start     70 Gaussians at random places' random.txt || { cat random.txt; fail "does not start at random"; }

refused() {  # words of the message, then the command
  local words=$1 code=0
  shift
  "$@" >out.txt 2>err.txt || code=$?
  [[ $code == 2 ]] || { cat out.txt err.txt; fail "exit code $code for $*"; }
  grep -q "$words" err.txt || { cat err.txt; fail "does not say '$words'"; }
  [[ $(wc -l <err.txt) -le 3 ]] || { cat err.txt; fail "more than a line or two"; }
}
refused 'has no points to begin with' "$klab" splat built-in --downscale 16 --steps 1 --start points
refused 'no such folder' "$klab" scene nowhere
refused 'is a scene of files already' "$klab" scene set --save copy
"$klab" scene built-in --downscale 16 --save saved >saved.txt || { cat saved.txt; fail "does not save the built-in scene"; }
"$klab" scene saved >again.txt || { cat again.txt; fail "the saved scene is not read"; }
grep -Eq '72 for training, 12 for' again.txt || { cat again.txt; fail "the saved scene has other views"; }
refused 'nowhere' "$klab" scene built-in --downscale 16 --out nowhere/a.png
sed -i 's/SIMPLE_RADIAL/FOV/' set/sparse/0/cameras.txt
refused "camera model 'FOV' (known are SIMPLE_PINHOLE" "$klab" scene set
rm set/sparse/0/images.txt
refused 'images.txt: no such file' "$klab" train set --steps 1
head -c 33 a.splat >cut.splat
refused 'has 33 bytes' "$klab" splat built-in --downscale 16 --steps 1 --start cut.splat
echo passed
