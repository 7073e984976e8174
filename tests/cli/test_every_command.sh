#!/usr/bin/env bash
# Each command of the sanitized klab once, and one refusal of most: what only commands call is sanitized nowhere else.
# ctest: sanitized-only slow
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp" || exit 2
export KLAB_WORK=$tmp/work XDG_CACHE_HOME=$tmp/cache NO_COLOR=1
# Commands start processes of their own, whose reports they do not show: every process writes its report to a file.
export ASAN_OPTIONS=log_path=$tmp/finding UBSAN_OPTIONS=log_path=$tmp/finding:print_stacktrace=1 LSAN_OPTIONS=log_path=$tmp/finding
count_failures

commands=" $("$klab" --help | sed -nE '/^Subcommands:/,/^The launcher/s/^  ([a-z][a-z-]*) .*/\1/p' | tr '\n' ' ')"
[[ $commands == *" check "* && $commands == *" step "* ]] || fail "the help lists no commands: $commands"
tried=" "

# try CODES TEXT COMMAND...: the command ends with one of the codes and prints the text; no process of it leaves a report.
try() {
  local codes=$1 text=$2 code=0 file; shift 2
  [[ $commands == *" $1 "* ]] || return 0  # a lab's command, in a program without the labs
  [[ $tried == *" $1 "* ]] || tried+="$1 "
  "$klab" "$@" >out.txt 2>&1 </dev/null || code=$?
  [[ " $codes " == *" $code "* ]] || { tail -n 20 out.txt; fail "klab $*: exit code $code"; }
  grep -q -e "$text" out.txt || { tail -n 20 out.txt; fail "klab $*: '$text' is not printed"; }
  for file in finding.*; do
    [[ -e $file ]] || continue
    head -n 40 "$file"
    fail "klab $*: a sanitizer's report"
    rm "$file"
  done
}

# The harness.
try 0 vector_add list
try 0 '"vector_add' list --json
try 2 'no_such' list no_such
try 0 'vector' explain 01
try 2 'no_such' explain no_such
try "0 1" 'processor' doctor
try 0 'check' schema
try 0 'ldmatrix' swizzle 64
try 2 'multiple of 16' swizzle 64 --row-bytes 24
try 0 '"schema_version"' schema check
try 2 'no_such' schema no_such
try 0 'ok' check vector_add --quick
try 0 '"verdict": "ok"' check vector_add --quick --json
try 2 'no_such' check no_such
# Sanitized code is timed against sanitized ceilings, so a rung may be above them.
try "0 1" 'cpu.01_scalar' bench vector_add --quick --size L1 --rounds 3 --out rows.csv
try 2 '' bench vector_add --size nowhere
try 2 '3 rounds a variant' compare rows.csv rows.csv
try 2 'none.csv' compare none.csv rows.csv
try 2 'nothing' regress --against nothing
try 2 'none: is no program' regress --base none
try 2 'against what' regress --quality built-in --steps 4
try 2 'how long is a training' regress --quality built-in --against none.json
try 2 'give one length' regress --quality built-in --steps 4 --seconds 4 --against none.json
try 2 'none.json' regress --quality built-in --steps 4 --against none.json
try 2 "recorded pool of trainings" regress --quality built-in --steps 4 --against nothing_like_it
try 2 'leave one out' regress --quality built-in --steps 4 --against none.json --base none
try 2 'name it with --against' regress --quality built-in --power
try 2 'give --quality SCENE' regress --margin 0.1
try 2 'kept as .json' regress --quality built-in --steps 4 --against none.json --out pool.csv
try 2 'names what is timed' regress matmul --quality built-in --steps 4 --against none.json
# The sanitized klab has no CUDA variants, and CPU variants in turns take minutes.
try 2 "no backend is called 'cuda'" regress vector_add --backend cuda --base "$klab"
try 0 '' report rows.csv -o report.html
try 0 'vector_add' report rows.csv --markdown
try 2 'none.csv' report none.csv -o none.html
try 0 '01' step
try 0 '' step 01
try 0 '' step 01.02
try 0 '' step 01.02 --hint 1
try 0 '' step 01.02 --solution
cp "$root/kernels/vector_add/cpu/02_simd.cpp" "$KLAB_WORK/01_vector_add/02.cpp" || fail "step left no file to work on"
try 0 '' step 01.02 --check --no-time
echo 'int broken(' >"$KLAB_WORK/01_vector_add/02.cpp"
try 1 '' step 01.02 --check --no-time
try 2 '' step 99
try "0 2" '' counts vector_add
try 2 '' trace vector_add.cuda.01_grid
try "0 1 2" '' gpu-queue
try 2 'none.safetensors' call vector_add.cpu.01_scalar --in none.safetensors --out sum.safetensors
try 2 'no_such' run no_such
try 0 'index.html' site site --no-traces
try 2 'is no site of klab' site "$KLAB_WORK"

# The labs.
cat >small.json <<'J'
{"levels": 4, "log2_table": 10, "finest_resolution": 64, "batch_samples": 1024, "first_rays": 32, "grid": 16,
 "steps_per_diagonal": 32, "width": 16}
J
try 0 'layers.1..scale *5  6 *5  7' autodiff
try 0 '5.5' autodiff 'ln(x1) + x1*x2 - sin(x2)' --at x1=2,x2=5 --trace --html trace.html --svg trace.svg
try 0 'Jacobian' autodiff '(x1*x2, x1 + x2)' --at 2,5
try 2 'ln' autodiff 'ln(x1)' --at x1=-1
try 2 'column 6' autodiff 'x1 + * x2' --at 2,5
try 0 'views' scene built-in
try 2 'nowhere' scene nowhere
try 0 'PSNR' train built-in --downscale 25 --config small.json --plan naive --threads 2 --steps 20 --out run
try 2 'not empty' train built-in --downscale 25 --out run
try 0 'resumed' train --resume run --steps 30 --threads 2
try 0 'PSNR' eval run built-in --downscale 25 --plan naive
try 0 '' render run --plan naive --size 16 --orbit 2 --depth --out orbit
try 2 '' render run --size 0 --out none
try 0 'reuse .* of the pixels drawn' render run --plan naive --size 32 --orbit 5 --reuse 3 --out orbit
try 2 'reuse shares work' render run --reuse --out none
try 0 'path.json' render run --plan naive --size 16 --orbit 2 --save-path path.json --mp4 film.mp4 --out orbit
try 0 'page.html' export run --plan naive --html page.html --small --cells 16
try "0 2" 'mesh.glb\|give --level' export run --plan naive --mesh mesh.glb --points points.ply --number 50 --resolution 12 --level 1
try 2 'no Gaussians' export run --gaussians a.spz
try 2 'nowhere' export nowhere --html none.html
try 0 '' quantize run --format bf16 --out narrow.safetensors
try 0 '' watch run --once
try 0 'http://127.0.0.1' train built-in --downscale 25 --config small.json --plan naive --threads 2 --steps 5 --no-eval --out viewed --view
try 2 'nowhere' view nowhere
try 0 'PSNR' results run/result.json
try 2 'none.json' results none.json
try 0 '' report --train run -o training.html
try 2 'nowhere' splat nowhere
try 2 'nowhere' compare-fields nowhere
try 2 'nowhere' hash-study nowhere
try 2 '' compare-formats run nowhere
try 2 'nothing to do' compress run --out smaller.safetensors
try 0 '^after ' compress run --prune 0.5 --views 1 --plan last --out smaller.safetensors
try 2 'nowhere' tune nowhere
try 0 '07_baked' realtime run --plan naive --views 1 --frames 2 --rounds 1 --cells 16 --plans 07 --out realtime
try 2 'must be a power of two' realtime run --cells 24 --out none
try 2 'exit code 2\|built without MPI' scaling nowhere
try 0 '' classify spirals --epochs 1 --model mlp --threads 2 --out network
try 2 '' classify --network nonsense
try 0 '' claims derivatives
try 0 'with seed 4 alone' claims --run quadratic dropout --seed 4
try 0 'quadratic, seed 1' claims --all quadratic --out claims.json
try 2 '"schema" is missing' claims --all quadratic --out small.json
try 2 'no_such' claims no_such
try 0 '' experiment quadratic --html experiment.html
try 2 'no_such' experiment no_such
try 2 'optimizers' experiment quadratic --network 10
try 2 'layer 1' experiment formats --network 'conv 6 40, 10'
try 2 'none.png' fit-image none.png

for command in $commands; do
  [[ $tried == *" $command "* ]] || fail "klab $command is not tried here: add a line"
done
[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
