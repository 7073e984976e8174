#!/usr/bin/env bash
# klab trace as people use it: messages, their places, and refusals.
set -euo pipefail
klab=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "no \"$2\" in the output"; }; }
code() { local want=$1; shift; local got=0; "$@" >"$work/out" 2>"$work/err" || got=$?
  [[ $got -eq $want ]] || { cat "$work/out" "$work/err" >&2; fail "exit code $got, not $want: $*"; }; }

code 0 "$klab" trace transpose.cuda.01_naive --shape 256,256 --html "$work/page.html"
has "$work/out" "32.0 (4.0)"
has "$work/out" "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
has "$work/out" "02_shared_tile no longer does that: klab explain 03 cuda.02_shared_tile"
has "$work/out" "out["
grep -q $'\x1b' "$work/out" && fail "escape codes in a pipe"
for word in "<!DOCTYPE html>" "prefers-color-scheme: dark" "width=device-width" "32.0" "02_shared_tile"; do
  has "$work/page.html" "$word"
done
grep -Eq 'src="http|href="http' "$work/page.html" && fail "the page loads something"

code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --json
python3 - "$work/out" <<'P' || fail "the JSON is not what it should be"
import json, sys
j = json.load(open(sys.argv[1]))
assert j["variant"] == "transpose.cuda.02_shared_tile" and j["shape"] == {"m": 64, "n": 64}
shared = [l for l in j["lines"] if l["access"] == "shared load"]
assert len(shared) == 1 and shared[0]["bank_conflicts"] == 31 * shared[0]["requests"]
assert j["hints"][0]["rung"] == "transpose.cuda.03_padded"
assert j["nsight"]["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"] == 4
P

# A GPU's own counters, as Nsight Compute writes them: here the host's counts, then a store that costs less.
code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --metrics
metrics=$(tr ',' ' ' <"$work/out")
has "$work/out" "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
counters() {  # SECTORS of the stores: a file of Nsight Compute's, each launch's share of a metric on a line
  echo '==PROF== Connected to process 7 (klab)'
  echo 'transpose.cuda.02_shared_tile ran once on a GPU'
  echo '"ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"'
  for m in $metrics; do
    value=128
    case $m in
      *requests*) value=128 ;;
      *sectors*_ld*) value=512 ;;
      *sectors*_st*) value=$1 ;;
      *wavefronts*_ld*) value='4,096' ;;
      *conflicts*_ld*) value='3,968' ;;
      *conflicts*_st* | *ldsm*) value=0 ;;
      *time*) value='9,999' ;;
    esac
    echo "\"0\",\"transpose(const float *, float *)\",\"(32, 32, 1)\",\"$m\",\"\",\"$value\""
  done
}
counters 512 >"$work/counters.csv"
code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/counters.csv"
has "$work/out" "the GPU counted what the host counts"
counters 1024 >"$work/counters.csv"
code 1 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/counters.csv"
has "$work/out" "differs"
code 2 "$klab" trace transpose.cuda.01_naive --shape 64,64 --counters "$work/nothing.csv"
head -n 2 "$work/counters.csv" >"$work/headless.csv"
code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/headless.csv"
has "$work/err" "no line names the columns"
head -c -9 "$work/counters.csv" >"$work/cut.csv"
code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/cut.csv"
has "$work/err" "cut.csv:"
head -n 5 "$work/counters.csv" >"$work/few.csv"
code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/few.csv"
has "$work/err" "few.csv holds no "
# Several variants in one profiler's run; the counters of the other and of another size are not this one's.
code 0 "$klab" trace transpose.cuda.01_naive transpose.cuda.02_shared_tile --metrics
has "$work/out" "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"
code 2 "$klab" trace transpose.cuda.01_naive transpose.cuda.02_shared_tile
has "$work/err" "one variant at a time"
printf 'variant,shape,%s\n' "${metrics// /,}" >"$work/kept.csv"
row=
for m in $metrics; do row+=,$(sed -n "s/.*\"$m\",\"\",\"\(.*\)\"/\1/p" "$work/counters.csv" | tr -d ,); done
printf 'transpose.cuda.02_shared_tile,m=64 n=64%s\n' "$row" >>"$work/kept.csv"
code 1 "$klab" trace transpose.cuda.02 --shape 64,64 --counters "$work/kept.csv"
has "$work/out" "differs"
code 2 "$klab" trace transpose.cuda.02 --shape 64,32 --counters "$work/kept.csv"
has "$work/err" "is about transpose.cuda.02_shared_tile at m=64 n=64, not at m=64 n=32"
code 2 "$klab" trace transpose.cuda.01_naive --shape 64,64 --counters "$work/kept.csv"
has "$work/err" "is about other variants than transpose.cuda.01_naive"
if [[ $("$klab" doctor --json) == *'"gpu": null'* ]]; then
  code 2 "$klab" trace transpose.cuda.02 --shape 64,64 --on-gpu
  has "$work/err" "cannot run on a GPU here: "
fi

# Pictures: their numbers are those of the text, and show what the rungs are about.
pictures() {  # NAME VARIANT SHAPE: pictures and counts of a rung
  code 0 "$klab" trace "$2" --shape "$3" --json --pictures "$work/$1"
  cp "$work/out" "$work/$1.json"
}
pictures naive transpose.cuda.01_naive 64,64
pictures tile transpose.cuda.02_shared_tile 64,64
pictures padded transpose.cuda.03_padded 64,64
pictures product matmul.cuda.01_naive 64,64,64
pictures tiled matmul.cuda.03_shared_tile 64,64,64
pictures waits matmul.cuda.06_sixteen_bytes 64,64,64
pictures ahead matmul.cuda.07_async_copies 64,64,64
python3 - "$work" <<'P' || fail "the pictures are not what they should be"
import csv, glob, json, os, sys
import xml.etree.ElementTree as tree
work = sys.argv[1]
def rows(run, name):
    return list(csv.DictReader(open(os.path.join(work, run, name + ".csv"), encoding="utf-8")))
def number(run, name, column):
    return [int(r[column]) for r in rows(run, name)]
def named(run, pattern):
    return [os.path.basename(f)[:-4] for f in sorted(glob.glob(os.path.join(work, run, pattern + ".csv")))]
for run in ("naive", "tile", "padded", "product", "tiled", "waits", "ahead"):
    j = json.load(open(os.path.join(work, run + ".json"), encoding="utf-8"))
    files = sorted(glob.glob(os.path.join(work, run, "*")))
    svg = [f for f in files if f.endswith(".svg")]
    assert len(svg) >= 4 and files == sorted(svg + [f[:-3] + "csv" for f in svg]), files
    for f in svg:
        text = open(f, encoding="utf-8").read()
        assert tree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg" and len(text) < 400_000, f
        assert "prefers-color-scheme:dark" in text and "@media print" in text and "href" not in text, f
    # Sectors by array, and by line.
    for access, column in (("load", "reads"), ("store", "writes")):
        want = sum(l["sectors"] for l in j["lines"] if l["access"] == access)
        assert sum(sum(number(run, h, column)) for h in named(run, "heat_*")) == want > 0, (run, access)
    lanes = [r for r in rows(run, "lanes") if r["access"] != "code"]
    assert len(lanes) == len(j["lines"])
    for l in j["lines"]:
        mine = [r for r in lanes if int(r["line"]) == l["line"] and r["access"] == l["access"] and int(r["bytes"]) == l["bytes_a_lane"]]
        assert len(mine) == 1 and all(int(mine[0][k]) == l[k] for k in ("requests", "lanes", "sectors", "bank_conflicts")), (run, l, mine)
    # Banks: each picture has the conflicts of its line.
    for name in named(run, "banks_*"):
        first = rows(run, name)[0]
        same = [l for l in j["lines"] if l["line"] == int(first["line"]) and l["access"] == first["access"] and str(l["bytes_a_lane"]) == first["bytes"]]
        assert len(same) == 1 and same[0]["bank_conflicts"] == int(first["bank_conflicts"]), name
# Lanes against addresses: every request of the line at every lane, and the naive store's lanes a row apart.
for run in ("naive", "tile"):
    j = json.load(open(os.path.join(work, run + ".json"), encoding="utf-8"))
    pictures = named(run, "addresses_line_*")
    assert len(pictures) == len(j["lines"]), pictures
    for name in pictures:
        places = rows(run, name)
        (same,) = [l for l in j["lines"] if l["line"] == int(places[0]["line"]) and l["access"] == places[0]["access"]]
        for lane in range(32):
            assert sum(int(r["times"]) for r in places if int(r["lane"]) == lane) == same["requests"], (name, lane)
(store,) = named("naive", "addresses_line_*_store")
assert {int(r["offset"]) - 256 * int(r["lane"]) for r in rows("naive", store)} == {0}
# A store of the naive transposition sends each sector eight times; through a tile once.
assert set(number("naive", "heat_out", "writes")) == {8} and set(number("naive", "heat_in", "reads")) == {1}
assert set(number("tile", "heat_out", "writes")) == {1}
# The tile's columns lie in one bank, and with padding in 32.
def load_of(run):
    (name,) = named(run, "banks_*_load")
    return rows(run, name)
bad, good = load_of("tile"), load_of("padded")
assert len({r["bank"] for r in bad}) == 1 and {r["words_in_bank"] for r in bad} == {"32"} and bad[0]["passes"] == "32"
assert len({r["bank"] for r in good}) == 32 and {r["words_in_bank"] for r in good} == {"1"} and good[0]["bank_conflicts"] == "0"
# A tiled product reads its factors less often.
def reads(run):
    return sum(number(run, "heat_a", "reads")) + sum(number(run, "heat_b", "reads"))
assert reads("product") > 4 * reads("tiled"), (reads("product"), reads("tiled"))
# Copies that were asked for ahead are in flight while their warp reads shared memory; the parent has none.
def flights(run):
    (name,) = named(run, "steps_*")
    all_rows = rows(run, name)
    return [r for r in all_rows if r["what"].startswith("in flight: cp.async")], all_rows
none, steps = flights("waits")
assert none == [] and {"waits", "global memory", "shared memory"} <= {r["what"] for r in steps}
some, steps = flights("ahead")
overlapped = [r for r in some if int(r["overlapped"]) >= 32]  # of the first fetch there is nothing to overlap with
assert len(some) == 8 * 8 and len(overlapped) == 8 * 7, (len(some), len(overlapped))
for r in overlapped[:8]:
    assert [s for s in steps if s["what"] == "shared memory" and s["warp"] == r["warp"] and int(r["commit"]) <= int(s["begin"]) < int(r["end"])], r
P
# The same steps as a trace file: a track for each warp, spans that do not overlap, copies that begin and end.
code 0 "$klab" trace matmul.cuda.07_async_copies --shape 64,64,64 --no-compiled --perfetto "$work/steps.json"
has "$work/out" "Steps as a trace file:"
python3 - "$work" <<'P' || fail "the trace file is not what it should be"
import csv, glob, json, sys
work = sys.argv[1]
events = json.load(open(work + "/steps.json"))["traceEvents"]
tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
assert "warp 0" in tracks.values() and all(e["args"]["name"].endswith(", block 0") for e in events if e["name"] == "process_name")
ends = {}
for e in events:
    if e["ph"] == "X":
        assert e["ts"] >= ends.get((e["pid"], e["tid"]), 0), e
        ends[(e["pid"], e["tid"])] = e["ts"] + e["dur"]
assert len(ends) == len(tracks) and {e["cat"] for e in events if e["ph"] == "X"} >= {"issues copies", "shared memory", "global memory"}
begun = {e["id"]: e for e in events if e["ph"] == "b"}
ended = {e["id"]: e for e in events if e["ph"] == "e"}
(steps,) = glob.glob(work + "/ahead/steps_*.csv")
rows = [r for r in csv.DictReader(open(steps)) if r["what"] == "in flight: cp.async"]
assert begun.keys() == ended.keys() and len(begun) == len(rows) == 64, (len(begun), len(rows))
assert sorted((e["ts"], ended[k]["ts"]) for k, e in begun.items()) == sorted((int(r["begin"]), int(r["end"])) for r in rows)
P
code 0 "$klab" trace transpose.cuda.02 --shape 64,64 --pictures "$work/tile" --html "$work/page.html"
has "$work/out" "Pictures in"
has "$work/out" "banks_line_"
[[ $(grep -o '<svg ' "$work/page.html" | wc -l) -ge 4 ]] || fail "no pictures in the page"
python3 - "$work" <<'P' || fail "the steps of a warp in the page"
import json, re, sys
page = open(sys.argv[1] + "/page.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="stepdata" type="application/json">(.*?)</script>', page, re.S)[1])
(kernel,) = data["kernels"]
assert [w["n"] for w in kernel["warps"]] == list(range(min(8, len(kernel["warps"])))) and kernel["kernel"].endswith(", block 0")
steps = kernel["warps"][1]["steps"]
load = next(s for s in steps if s["k"].startswith("load"))
assert load["a"] == "in" and load["m"] == 2**32 - 1 and load["o"] == list(range(load["o"][0], load["o"][0] + 128, 4)), load
column = next(s for s in steps if s["k"].startswith("shared load"))
assert column["a"] == "" and {b - a for a, b in zip(column["o"], column["o"][1:])} == {128}, column
assert "[" in data["sources"][column["s"]] and any(s["k"].startswith("meets all warps") for s in steps)
P
ls "$work/tile" | grep -v -E '^[a-zA-Z0-9_]+\.(svg|csv)$' && fail "a temporary file is left"
refused() { local text=$1; shift; code 2 "$@"; has "$work/err" "$text"; [[ $(wc -l <"$work/err") == 1 ]] || fail "not one line: $*"; }
refused "klab trace is for CUDA variants" "$klab" trace transpose.cpu.01_naive --pictures "$work/none"
refused "cannot be made" "$klab" trace transpose.cuda.01_naive --pictures /proc/pictures
refused "is too large to draw" "$klab" trace matmul.cuda.01_naive --shape 4096,4096,4096 --pictures "$work/none"
refused "is a program" "$klab" trace "$work/none.cu" --pictures "$work/none"
refused "is too large to draw" "$klab" trace matmul.cuda.01_naive --shape 4096,4096,4096 --perfetto "$work/none"
refused "cannot" "$klab" trace transpose.cuda.01_naive --shape 64,64 --perfetto /proc/steps.json
echo text >"$work/file"
refused "$work/file" "$klab" trace transpose.cuda.01_naive --pictures "$work/file"
[[ ! -e $work/none ]] || fail "a refused call made a folder"

code 2 "$klab" trace transpose.cuda.07_nothing
has "$work/err" "did you mean"
code 2 "$klab" trace transpose.cpu.01_naive
has "$work/err" "klab trace is for CUDA variants"
code 2 "$klab" trace transpose.cuda.01_naive --shape 5
has "$work/err" "--shape has 1 numbers but transpose takes 2 (m,n)"
code 2 "$klab" trace transpose.cuda.01_naive --shape=-1,5
code 2 "$klab" trace transpose.cuda.01_naive --gpu voodoo
has "$work/err" "no GPU is called 'voodoo'"
code 2 "$klab" trace transpose.cuda.01_naive --shape 32,32 --html "$work/nowhere/page.html"
code 2 "$klab" trace
code 0 "$klab" trace vector_add.cuda.01_one_each --shape 0
echo ok
