#!/usr/bin/env bash
# What readers of Gaussians pass over or change is printed once by every command that takes such a file, and a page of Gaussians of another
# program needs no scene.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export LC_ALL=C OMP_NUM_THREADS=2
klab=$(realpath "$klab")
in_own_folder
{
  printf 'ply\nformat ascii 1.0\nelement vertex 4\n'
  printf 'property float %s\n' x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3 quality
  printf 'element camera 1\nproperty float focal\nend_header\n'
  printf '10 0 0 1 0 0 inf -2 -2 -2 1 0 0 0 7\n11 1 0 0 1 0 2 -2 -2 -2 1 0 0 0 7\n10 1 1 0 0 1 2 -2 -2 -2 1 0 0 0 7\n11 0 1 1 1 1 2 -2 -2 -2 1 0 0 0 7\n50\n'
} >foreign.ply
notes=('^note      1 opacities are infinite' '^note      properties .* passed over: "quality"$' '^note      elements .* passed over: "camera"$')
expect_notes() { # a command's name; its output is in said.txt
  local note
  for note in "${notes[@]}"; do
    [[ $(grep -c -e "$note" said.txt) == 1 ]] || { cat said.txt; fail "$1 does not print '$note' once"; }
  done
}
"$klab" eval foreign.ply built-in --downscale 25 --plan naive >said.txt 2>&1 || { cat said.txt; fail eval; }
expect_notes eval
"$klab" eval foreign.ply built-in --downscale 25 --plan naive --json >said.json || fail "eval --json"
python3 - <<'P' || { cat said.json; fail "eval --json has not the notes once"; }
import json
notes = json.load(open("said.json"))["notes"]
raise SystemExit(not all(sum(word in note for note in notes) == 1 for word in ("infinite", "quality", "camera")))
P
"$klab" render foreign.ply --scene built-in --size 16 --plan naive --out picture >said.txt 2>&1 || { cat said.txt; fail render; }
expect_notes render
"$klab" export foreign.ply --scene built-in --points points.ply --gaussians out.ply >said.txt 2>&1 || { cat said.txt; fail export; }
expect_notes export
"$klab" view foreign.ply --scene built-in --plan naive >said.txt 2>&1 </dev/null & view=$!
for ((i = 0; i < 600; ++i)); do grep -q '^view  \|built without' said.txt && break; kill -0 $view 2>/dev/null || break; sleep 0.1; done
kill -INT $view 2>/dev/null || true
wait $view || true
grep -q 'built without libcpp-httplib-dev' said.txt || expect_notes view

# A page takes no scene: the Gaussians make their own box.
"$klab" export foreign.ply --html page.html --plan naive >said.txt 2>&1 || { cat said.txt; fail "no page without a scene"; }
expect_notes "export --html"
has said.txt '^note      no scene says where these Gaussians lie'
has said.txt '^page.html  [0-9.]* MB'
grep -q '<canvas' page.html || fail "the page has no canvas"
# Other files are in the world of a scene.
refused "has no comment 'klab place'" "$klab" export foreign.ply --html page.html --points points.ply
refused "has no comment 'klab place'" "$klab" render foreign.ply
echo passed
