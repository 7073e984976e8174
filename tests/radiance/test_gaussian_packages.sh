#!/usr/bin/env bash
# Gaussians in exchange with a package of PyPI that klab does not use, gaussforge: it reads what klab writes (.ply, .splat, .spz, .sog), and
# klab reads what it writes. It is installed into an environment of the test's own; where pip cannot do that, the test is skipped.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export LC_ALL=C PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
klab=$(realpath "$klab")
in_own_folder
python3 -m venv venv >log 2>&1 || { echo "SKIPPED: python3 -m venv does not work here (python3-venv): no package has read Gaussians"; exit 77; }
python=$tmp/venv/bin/python
"$python" -m pip install -q --timeout 10 --retries 1 --only-binary :all: gaussforge==0.6.0 >log 2>&1 ||
  { echo "SKIPPED: pip cannot install gaussforge here: no package has read Gaussians: $(tail -n 1 log)"; exit 77; }
packages() { "$python" "$here/gaussian_packages.py" "$@" 2>log || { cat log; fail "gaussian_packages.py $*"; }; }
export_quietly() { "$klab" export "$@" >said.txt 2>&1 || { cat said.txt; fail "export $*"; }; }

packages write wanted.ply
endings=(ply splat spz) sog=1
"$klab" export wanted.ply --gaussians a.sog >said.txt 2>&1 && endings+=(sog) || { has said.txt libwebp-dev; sog=0; }
for ending in ply splat spz; do export_quietly wanted.ply --gaussians "a.$ending"; done
packages written wanted.ply "${endings[@]/#/a.}"
zstd=1
if "$klab" export wanted.ply --gaussians a4.spz --spz-version 4 >said.txt 2>&1; then packages written wanted.ply a4.spz; else has said.txt libzstd-dev; zstd=0; fi

from=(w2.spz w3.spz)
((sog)) && from+=(w.sog)
packages convert wanted.ply "${from[@]}" w4.spz
for file in "${from[@]}"; do
  export_quietly "$file" --gaussians "$file.ply"
  packages read "$file" "$file.ply"
done
if ((zstd)); then
  export_quietly w4.spz --gaussians w4.spz.ply
  packages read w4.spz w4.spz.ply
else
  refused 'w4.spz: is SPZ of version 4, and this klab was built without libzstd-dev: install it' "$klab" export w4.spz --gaussians x.ply
  [[ ! -e x.ply ]] || fail "something was left behind"
fi
refused "wanted.ply: has no comment 'klab place' that says where its Gaussians lie: give the scene that they show, --scene DIR$" "$klab" render wanted.ply
packages write opaque.ply inf
export_quietly opaque.ply --gaussians opaque.spz
has said.txt '^note      1 opacities are infinite: 1 Gaussians become as opaque'
# A scene says where they lie, also to a page.
"$klab" view opaque.ply --scene built-in --plan last >view.txt 2>&1 </dev/null & view=$!
for ((i = 0; i < 600; ++i)); do grep -q 'view  \|built without' view.txt && break; sleep 0.1; done
kill -INT $view 2>/dev/null || true
wait $view || true
grep -q '^view      http://\|built without libcpp-httplib-dev' view.txt || { cat view.txt; fail "no page of Gaussians in the box of a scene"; }
((sog)) || { echo "SKIPPED: this klab has no libwebp: no package has read its .sog"; exit 77; }
((zstd)) || { echo "SKIPPED: this klab has no libzstd: no package has read its SPZ 4"; exit 77; }
echo ok
