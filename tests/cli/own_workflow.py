"""The workflow of examples/own_kernels, run here: `quick` with programs that answer as `regress` does, `whole` with real ones, built
from a base and a head."""
import os
import re
import subprocess
import sys

from workflow import Runner, parse

part, klab, root, build, tmp = sys.argv[1:6]
file = os.path.join(root, "examples", "own_kernels", ".github", "workflows", "speed.yml")
text = open(file, encoding="utf-8").read()
workflow = parse(text)
faults = []


def must(good, what, runner=None):
    if not good:
        faults.append(what)
        print("FAILED:", what, f"\nran: {runner.ran}\n{runner.output[-3000:]}\n{runner.summary}" if runner else "")


def git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", *arguments], check=True, capture_output=True,
                          text=True).stdout.strip()


def commit(folder, name):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", name)
    return git(folder, "rev-parse", "HEAD")


def tool(folder, name, script):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        out.write("#!/usr/bin/env bash\n" + script)
    os.chmod(os.path.join(folder, name), 0o755)


def job(name, repository, base, head, tools, klab_source=("", ""), **environment):
    """A pull request of `head` upon `base`, in a folder of its own. Packages are installed already: sudo does nothing."""
    tool(tools, "sudo", "exit 0\n")
    path = {"PATH": tools + ":" + os.environ["PATH"]}
    runner = Runner(os.path.join(tmp, name), {"runner.os": "Linux", "github.sha": head, "github.event.pull_request.base.sha": base},
                    {("", base): (repository, base), ("", ""): (repository, head), ("OWNER/klab", "v0.1"): klab_source},
                    os.path.join(tmp, "caches"), {**path, **environment})
    runner.good = runner.run(workflow, "speed")
    return runner


def promises():
    """What GitHub reads and this test does not run."""
    try:
        import yaml
        read = yaml.safe_load(text)
        read["on"] = read.pop(True)  # YAML 1.1 takes the key for a truth value
        must(read == parse(text), "the file reads otherwise by PyYAML")
    except ImportError:
        pass
    must(workflow["on"] == "pull_request", "runs for something else than pull requests")
    must(workflow["permissions"] == {"contents": "read"}, "has other permissions than to read")
    must("secrets." not in text and "github.token" not in text and "pull_request_target" not in text, "needs what forks have not")
    must("permissions" not in workflow["jobs"]["speed"], "a job has permissions of its own")
    keys = [s["with"]["key"] for s in workflow["jobs"]["speed"]["steps"] if s.get("uses", "").startswith("actions/cache@")]
    must(len(keys) == 2 and all("steps.processor.outputs.isa" in k for k in keys), "a cache's key lacks the instruction set")
    # Everything that klab's configuration asks for is installed.
    needs = open(os.path.join(root, "cmake", "KlabDependencies.cmake"), encoding="utf-8").read()
    packages = set(re.findall(r"^klab_need\(([a-z][\w+.-]*)|apt-get install ([a-z][\w+.-]*)\"", needs, re.M))
    packages = {a or b for a, b in packages}
    installed = {w for s in workflow["jobs"]["speed"]["steps"] if "apt-get install" in s.get("run", "") for w in s["run"].split()}
    must(len(packages) > 10 and packages <= installed, f"packages that are not installed: {sorted(packages - installed)}")
    for step in workflow["jobs"]["speed"]["steps"]:
        if "run" in step:
            ended = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True)
            must(ended.returncode == 0, f"{step['name']}: {ended.stderr}")


def quick():
    promises()
    repository = os.path.join(tmp, "repository")
    os.makedirs(repository)
    git(repository, "init", "-q", "-b", "main")
    base = commit(repository, "base")
    # cmake makes the program of the folder that is built. The head's answers as KLAB_TEST_ANSWER says; the base's is never asked here.
    tools = os.path.join(tmp, "tools")
    tool(tools, "cmake", 'if [[ $1 == -S ]]; then mkdir -p "$4"; exit; fi\nif [[ $1 == --install ]]; then mkdir -p "$4"; exit; fi\n'
         'printf \'%s\\n\' \'#!/usr/bin/env bash\' \'[[ $1 == regress ]] || exit 0\' \'eval "$KLAB_TEST_ANSWER"\' >"$2/own"\nchmod +x "$2/own"\n')
    cases = [  # what regress does, whether the job is good, what its output holds, what the summary holds
        ("same", "echo '| same |'", True, None, "| same |"),
        ("slower", "echo '| SLOWER |'; exit 1", False, "::error title=Slower::", "| SLOWER |"),
        ("undecided", "echo '| UNDECIDED |'; echo 'klab: nothing could be decided' >&2; exit 2", True,
         "::notice title=Speed undecided::klab: nothing could be decided", "| UNDECIDED |"),
        ("bad_input", "echo 'klab: --base x: is no program' >&2; exit 2", False, "is no program", ""),
        ("crash", "kill -SEGV $$", False, None, ""),
    ]
    for name, answer, good, printed, summary in cases:
        os.makedirs(os.path.join(tmp, "caches"), exist_ok=True)
        runner = job(name, repository, base, base, tools, (repository, base), KLAB_TEST_ANSWER=answer)
        must(runner.good == good, f"{name}: the job is {'good' if runner.good else 'bad'}", runner)
        must(printed is None or printed in runner.output, f"{name}: '{printed}' is not printed", runner)
        must(runner.summary.strip() == summary, f"{name}: another summary", runner)
        if name == "undecided":
            must("::error" not in runner.output, f"{name}: an error", runner)
        # The first job installs klab and builds the base; what it kept serves the second.
        if name == "same":
            must("Install klab" in runner.ran and "Build the base" in runner.ran, "nothing is built without a cache", runner)
        if name == "slower":
            must("Install klab" not in runner.ran and "Build the base" not in runner.ran, "the caches are not used", runner)
    isas = open(os.path.join(build, "isas.txt"), encoding="utf-8").read().splitlines()
    if isas[0] == "best":
        must(runner.context["steps.processor.outputs.isa"] == isas[1], f"the instruction set is not {isas[1]}", runner)


def whole():
    repository = os.path.join(tmp, "repository")
    subprocess.run(["cp", "-r", os.path.join(root, "examples", "own_kernels"), repository], check=True)
    git(repository, "init", "-q", "-b", "main")
    base = commit(repository, "base")
    rung = os.path.join(repository, "kernels", "swiglu_fwd", "cuda", "01_one_each.cu")
    source = open(rung, encoding="utf-8").read()
    with open(rung, "a", encoding="utf-8") as out:
        out.write("// the same\n")
    same = commit(repository, "same")
    # Another load for every element. Counts have no noise, so the verdict does not depend on what else runs here.
    slower = source.replace("if (i < n) y[i] =", "if (i < n) (void)static_cast<const volatile float*>(a)[n - 1 - i], y[i] =")
    must(slower != source, "the rung has other lines now; plant the slowdown anew")
    with open(rung, "w", encoding="utf-8") as out:
        out.write(slower)
    slow = commit(repository, "slower")
    # klab as its own build installs it.
    isas = open(os.path.join(build, "isas.txt"), encoding="utf-8").read().splitlines()
    kept = os.path.join(tmp, "caches", f"klab-Linux-{isas[1]}-v0.1")
    os.makedirs(os.path.dirname(kept))
    subprocess.run(["cmake", "--install", build, "--prefix", kept], check=True, stdout=subprocess.DEVNULL)
    tools = os.path.join(tmp, "tools")
    first = job("same", repository, base, same, tools, MINUTES="0.5")
    must(first.good, "a head that is no slower fails the job", first)
    must("Build the base" in first.ran and "Install klab" not in first.ran, "other steps ran than with klab from the cache", first)
    must("swiglu_fwd" in first.summary, "the summary holds no table", first)
    second = job("slower", repository, base, slow, tools, MINUTES="0.5")
    must(not second.good, "a slower head passes", second)
    must("Build the base" not in second.ran, "the base is built again", second)
    must("SLOWER" in second.summary and "::error title=Slower::" in second.output, "the slowdown is not named", second)


{"quick": quick, "whole": whole}[part]()
sys.exit(len(faults) > 0)
