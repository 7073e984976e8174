"""Runs the jobs of a GitHub workflow on this machine: its `run:` steps as they are written, with GitHub's shell, environment and files;
`actions/checkout` and `actions/cache` by folders. Knows the part of YAML and of the expressions that such a file needs, and refuses
the rest."""
import os
import re
import shutil
import subprocess


class Refused(Exception):
    pass


def scalar(text):
    if text[:1] in ("'", '"'):
        end = text.index(text[0], 1)
        return text[1:end]
    text = re.sub(r"\s+#.*$", "", text)
    if re.fullmatch(r"\d+", text):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


def parse(text):
    """Returns the file as dictionaries and lists: block mappings and sequences, plain and quoted scalars, literal blocks."""
    lines = [(len(l) - len(l.lstrip()), l.strip(), l) for l in text.split("\n")]
    at = 0

    def skip():
        nonlocal at
        while at < len(lines) and (not lines[at][1] or lines[at][1].startswith("#")):
            at += 1

    def literal(indent):
        nonlocal at
        kept = []
        while at < len(lines) and (not lines[at][1] or lines[at][0] > indent):
            kept.append(lines[at][2])
            at += 1
        inside = min(len(l) - len(l.lstrip()) for l in kept if l.strip())
        return "\n".join(l[inside:] for l in kept).rstrip("\n") + "\n"

    def value(rest, indent):
        nonlocal at
        if rest == "|":
            return literal(indent)
        if rest and rest[0] in "{[>&*!|":
            raise Refused(f"YAML: {rest}")
        if rest and not rest.startswith("#"):
            return scalar(rest)
        skip()
        deeper = at < len(lines) and (lines[at][0] > indent or (lines[at][0] == indent and lines[at][1].startswith("- ")))
        return block(lines[at][0]) if deeper else None

    def block(indent):
        nonlocal at
        if lines[at][1].startswith("- "):
            found = []
            while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("- "):
                inner = indent + 2
                lines[at] = (inner, lines[at][1][2:].lstrip(), " " * inner + lines[at][1][2:].lstrip())
                found.append(block(inner) if re.match(r"[\w-]+:( |$)", lines[at][1]) else scalar(lines[at][1]))
                skip()
            return found
        found = {}
        while at < len(lines) and lines[at][0] == indent and not lines[at][1].startswith("- "):
            key = re.match(r"([\w-]+):(?: +(.*))?$", lines[at][1])
            if not key or key[1] in found:
                raise Refused(f"YAML: {lines[at][1]}")
            at += 1
            found[key[1]] = value((key[2] or "").strip(), indent)
            skip()
        return found

    skip()
    whole = block(0)
    if at < len(lines):
        raise Refused(f"YAML: {lines[at][1]}")
    return whole


class Runner:
    """One job on one machine. `context`: what expressions name, such as github.sha; `sources`: the folder that a checkout of a
    repository copies from, by (repository, ref); `caches`: the folder in which caches are kept between jobs."""

    def __init__(self, folder, context, sources, caches, environment):
        self.folder, self.context, self.sources, self.caches = folder, context, sources, caches
        self.environment, self.ran = environment, []
        self.summary = self.output = ""
        os.makedirs(folder)

    def look_up(self, name):
        if name not in self.context:
            raise Refused(f"the expression {name}")
        return self.context[name]

    def filled(self, text):
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda m: self.look_up(m[1]), str(text))

    def wanted(self, condition):
        parts = re.fullmatch(r"([\w.-]+) (==|!=) '([^']*)'", condition)
        if not parts:
            raise Refused(f"the condition {condition}")
        return (self.look_up(parts[1]) == parts[3]) == (parts[2] == "==")

    def use(self, step):
        action, given = step["uses"].split("@")[0], {k: self.filled(v) for k, v in (step.get("with") or {}).items()}
        path = os.path.join(self.folder, given["path"])
        if action == "actions/checkout":
            source = self.sources[given.get("repository", ""), given.get("ref", "")]
            subprocess.run(["git", "clone", "-q", source[0], path], check=True)
            subprocess.run(["git", "-C", path, "checkout", "-q", source[1]], check=True)
            return None
        if action == "actions/cache":
            kept = os.path.join(self.caches, given["key"])
            self.context[f"steps.{step['id']}.outputs.cache-hit"] = "true" if os.path.exists(kept) else ""
            if os.path.exists(kept):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copytree(kept, path, symlinks=True)
            return lambda: os.path.exists(kept) or shutil.copytree(path, kept, symlinks=True)
        raise Refused(f"the action {action}")

    def run(self, workflow, job):
        """Returns whether all steps succeeded. Caches that a step asked for are kept at the end of a job that did."""
        steps, after = workflow["jobs"][job]["steps"], []
        env = {k: str(v) for k, v in (workflow.get("env") or {}).items()}
        env.update({k: v for k, v in self.environment.items() if k in env})  # a test's own values
        self.context.update({f"env.{k}": v for k, v in env.items()})
        for step in steps:
            name = step.get("name", step.get("uses"))
            if "if" in step and not self.wanted(step["if"]):
                continue
            self.ran.append(name)
            if "uses" in step:
                later = self.use(step)
                after += [later] if later else []
                continue
            files = {n: os.path.join(self.folder, f".{n.lower()}") for n in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
            for file in files.values():
                open(file, "w").close()
            script = os.path.join(self.folder, ".step.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write(self.filled(step["run"]))
            ended = subprocess.run(["bash", "-e", script], cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, **self.environment, **env, **files, "GITHUB_WORKSPACE": self.folder, "CI": "true"})
            self.output += f"--- {name}\n{ended.stdout}"
            self.summary += open(files["GITHUB_STEP_SUMMARY"], encoding="utf-8").read()
            for line in open(files["GITHUB_OUTPUT"], encoding="utf-8").read().splitlines():
                key, value = line.split("=", 1)
                self.context[f"steps.{step['id']}.outputs.{key}"] = value
            for line in open(files["GITHUB_ENV"], encoding="utf-8").read().splitlines():
                key, value = line.split("=", 1)
                env[key] = self.context[f"env.{key}"] = value
            if ended.returncode != 0:
                return False
        for keep in after:
            keep()
        return True
