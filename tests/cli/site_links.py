"""Reads a site that `klab site` wrote: site_links.py FOLDER ROOT KLAB."""
import html.parser
import json
import os
import re
import subprocess
import sys
import urllib.parse

folder, root, klab = sys.argv[1:4]
faults = []


def must(good, what):
    if not good:
        faults.append(what)
        print("FAILED:", what)


class Page(html.parser.HTMLParser):
    """Links, ids and loaded files of a page, and tags that are left open."""
    VOID = {"meta", "link", "br", "hr", "img", "input", "!doctype"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.loads, self.ids, self.terms, self.open, self.faults, self.words = [], [], [], {}, [], [], []
        self.folded = 0
        self.feed(text)
        self.faults += [f"<{tag}> is left open" for tag in self.open if tag not in ("p", "li")]

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if "id" in a:
            self.ids.append(a["id"])
        if tag == "a" and "href" in a:
            self.links.append(a["href"])
            if a.get("class") == "term":
                self.terms[a["id"]] = a["href"]
        if tag in ("script", "img", "iframe", "source", "video", "embed") and "src" in a:
            self.loads.append(a["src"])
        if tag == "link" or tag == "form":
            self.loads.append(a.get("href", a.get("action")))
        self.folded += tag == "details"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.folded -= tag == "details"
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.faults.append(f"</{tag}> closes <{self.open[-1] if self.open else 'nothing'}>")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append((data, self.folded > 0))

    def text(self, folded):
        return " ".join(" ".join(data for data, f in self.words if f == folded).split())


pages, files = {}, set()
for at, _, names in os.walk(folder):
    for name in names:
        path = os.path.relpath(os.path.join(at, name), folder)
        files.add(path)
        if name.endswith(".html"):
            pages[path] = Page(open(os.path.join(at, name), encoding="utf-8").read())


def target_of(page, address):
    """Returns file and anchor, or None for what lies outside."""
    url = urllib.parse.urlsplit(address)
    if url.scheme:
        return None
    path = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(url.path))) if url.path else page
    return path, urllib.parse.unquote(url.fragment)


checked = 0
for name, page in pages.items():
    must("<p>|" not in open(os.path.join(folder, name), encoding="utf-8").read(), f"{name}: a table is shown as text")
    for fault in page.faults[:3]:
        must(False, f"{name}: {fault}")
    must(len(page.ids) == len(set(page.ids)), f"{name}: an id is there twice: {sorted(i for i in page.ids if page.ids.count(i) > 1)[:3]}")
    for address in page.links:
        target = target_of(name, address)
        if target is None:
            continue
        checked += 1
        file, anchor = target
        must(file in files, f"{name}: a link to {address}, which is not there")
        if anchor and file in pages:
            must(anchor in pages[file].ids, f"{name}: a link to {address}, which has no such place")
    for address in page.loads:
        if address.startswith("data:"):
            continue
        target = target_of(name, address)
        must(target is not None, f"{name}: loads {address} from elsewhere")
        must(target is None or target[0] in files, f"{name}: loads {address}, which is not there")
must(checked > 5000, f"only {checked} links")
styles = "".join(open(os.path.join(folder, f), encoding="utf-8").read() for f in files if f.endswith((".css", ".js")) and f != "search-index.js")
must(not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|https?://", styles), "style or script loads something")
must("prefers-color-scheme: dark" in styles and "@media print" in styles and "max-width: 500px" in styles, "the style lacks a medium")

# Every lesson, every step, every ladder.
labs = [d for d in sorted(os.listdir(os.path.join(root, "labs"))) if os.path.exists(os.path.join(root, "labs", d, "README.md"))]
for lab in labs:
    must(f"lessons/{lab}.html" in pages, f"labs/{lab} has no page")
    title = re.search(r'\.title = "(.*)"', open(os.path.join(root, "labs", lab, "lab.cpp"), encoding="utf-8").read())[1]
    must(pages[f"lessons/{lab}.html"].text(False).split("The path")[0].rstrip().endswith(title), f"the page of labs/{lab} has another title than the lab")
listed = json.loads(subprocess.run([klab, "list", "--json"], check=True, capture_output=True, text=True).stdout)
goals = {v["id"] for v in listed["variants"] if v["parent"] and not v["peer"]}
steps_index = pages["steps/index.html"]
found = {}
for name, page in pages.items():
    if name.startswith("steps/") and name != "steps/index.html":
        text = open(os.path.join(folder, name), encoding="utf-8").read()
        for goal in re.findall(r"\+\+\+ kernels/([a-z0-9_]+)/(cpu|cuda)/([a-z0-9_]+)\.", text):
            found[".".join(goal)] = name
        must(os.path.basename(name) in steps_index.links, f"{name} is not in the list of steps")
must(len(goals) > 300 and goals == set(found), f"steps without a page: {sorted(goals - set(found))[:5]}; pages without a step: {sorted(set(found) - goals)[:5]}")

# A step shows its text, the file as klab writes it, the counts on record, and the answer folded.
step = pages["steps/03.cuda.02.html"]
subprocess.run([klab, "step", "03.cuda.02"], check=True, capture_output=True)
written = open(os.path.join(os.environ["KLAB_WORK"], "03_transpose", "02.cu"), encoding="utf-8").read()
must(" ".join(written.split()) in step.text(False), "the page of a step does not show the file that klab step writes")
must("13,266" in step.text(False), "the page of a step lacks the parent's recorded sectors")
must("+++ kernels/transpose/cuda/02" in step.text(True) and "+++ kernels" not in step.text(False), "klab's answer is not folded")
must("Hint 1 of" in step.text(True), "hints are not folded")
marked = [n for n in pages if n.startswith("steps/") and 'class="change"' in open(os.path.join(folder, n), encoding="utf-8").read()]
must(len(marked) > 20, f"lines to change stand out in {len(marked)} steps")

# Hints and code of rungs are folded in a lesson, and figures of a ladder are those of the record.
lesson = pages["lessons/05_matmul.html"]
must("Look at the innermost loop of the parent" in lesson.text(True), "a hint of lesson 05 is not folded")
must("b[p][j] + " not in lesson.text(False) and "for (i...) for (p...) for (j...)" in lesson.text(True), "the code of a rung is not folded")
ladders = pages["ladders/05_matmul.html"].text(False)
for machine in ("7bb378ff211de0e4", "98840b1f00d07642", "eaed8156ea8a83c7"):
    record = json.load(open(os.path.join(root, "reports/recorded", machine, "machine.json"), encoding="utf-8"))["machine"]
    must(record["processor"] in ladders, f"the ladders of lab 05 do not name {record['processor']}")
waiting = [line.split(",")[0] for line in open(os.path.join(root, "reports/gpu_queue.csv"), encoding="utf-8") if line.rstrip().endswith("never timed")]
for rung in waiting:
    page = [p for n, p in pages.items() if n.startswith("steps/") and found.get(rung) == n]
    must(not page or "ot yet measured on a GPU" in page[0].text(False), f"{rung}: its page does not say that no GPU has timed it")

# Words link to their entries, and entries to the words.
entries = pages["glossary.html"]
words = [l for l in open(os.path.join(root, "docs/glossary.md"), encoding="utf-8") if l.startswith("| **")]
back = {tuple(target_of("glossary.html", l)) for l in entries.links if "#term-" in l}
forth = {(n, i) for n, p in pages.items() if n.startswith(("lessons/", "docs/", "machines/")) or n == "index.html" for i in p.terms}
must(back == forth, f"one way only: {sorted(back ^ forth)[:4]}")
for name, page in pages.items():
    for i, address in page.terms.items():
        must(target_of(name, address) == ("glossary.html", i[len("term-"):]), f"{name}: {i} leads to {address}")
must(sum(1 for n, _ in back if n.startswith("lessons/")) > 100, f"{len(back)} uses of words in lessons")
must(all(re.sub(r"[^a-z0-9 _-]", "", l[4:l.index("** |")].lower()).replace(" ", "-") in entries.ids for l in words), "a word has no entry")

# The search: the index is a file of JSON in a script, and finds a word of lesson 05.
text = open(os.path.join(folder, "search-index.js"), encoding="utf-8").read()
index = json.loads(text[text.index("[\n"):].rstrip().rstrip(";").replace(",\n]", "\n]"))
hits = [e for e in index if "accumulators" in e[3] and e[0].startswith("lessons/05_matmul.html#")]
must(hits, "the search does not find 'accumulators' in lesson 05")
for address, *_ in index:
    file, anchor = target_of("index.html", address)
    must(file in pages and (not anchor or anchor in pages[file].ids), f"the search leads to {address}, which is not there")
must(not any("for (i...)" in e[3] for e in index), "the search shows a folded answer")

# The trace of a rung has its source and counts.
trace = pages["traces/transpose.cuda.02_shared_tile.html"].text(False)
must("__syncthreads" in trace and "sectors/request" in trace, "the trace lacks source or counts")
# Its pictures stand there, and next to the steps whose parent or goal it is; they are one file.
sheet = "traces/transpose.cuda.02_shared_tile.svg"
must(sheet in files and "32 passes" in open(os.path.join(folder, sheet), encoding="utf-8").read(), "the trace's pictures lack its conflicts")
showing = {n for n, p in pages.items() if any(target_of(n, a) == (sheet, "") for a in p.loads if not a.startswith("data:"))}
must(showing == {"traces/transpose.cuda.02_shared_tile.html", "steps/03.cuda.02.html", "steps/03.cuda.03.html"}, f"pages that show it: {sorted(showing)}")
must(not [f for f in files if f.startswith("traces/") and f.endswith(".svg") and f != sheet], "pictures of other rungs")
# What was not asked for is no page, and nothing links to it.
must(len([n for n in pages if n.startswith("traces/")]) == 2, "other traces than those asked for")
sys.exit(1 if faults else 0)
