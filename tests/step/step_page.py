"""Asks the page of `klab step --page` as a browser does: step_page.py ADDRESS WORK_FILE ANSWER. Where Chromium is installed it also opens
the page: verdict, counts and trace follow the file there."""
import json
import os
import re
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "web"))
from browser import Browser, chromium

address, work, answer = sys.argv[1:4]
host = address.split("/")[2]


def get(path, url=None, **headers):
    request = urllib.request.Request(url or address + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def must(good, what):
    if not good:
        sys.exit(f"FAILED: {what}")


def state_when(holds, what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = json.loads(get("state")[1])
        if holds(state):
            return state
        time.sleep(0.2)
    sys.exit(f"FAILED: {what}: {state}")


# Only those who know the token, and name this host.
must(get("", url=f"http://{host}/")[:2] == (403, ""), "answers without a token")
must(get("state", url=f"http://{host}/{'0' * 32}/state")[:2] == (403, ""), "answers a wrong token")
must(get("state", Host="elsewhere.example")[:2] == (403, ""), "answers for another host's name")
must(get("../../etc/passwd")[0] in (403, 404) and get("no_such.html")[0] == 404, "a path that is no page")

front = get("")[1]
must("steps/03.cuda.02.html" in front, "the address leads nowhere")
status, page, headers = get("steps/03.cuda.02.html")
must(status == 200 and headers["Content-Type"].startswith("text/html"), "no page of the step")
must('id="live"' in page and "<script src" not in page and 'rel="stylesheet"' not in page, "the page is not alone")
must("Counts of the parent and the goal" in page and "13,266" in page, "the page lacks the counts on record")
lesson = get("lessons/03_transpose.html")[1]
must("<h1" in lesson and 'href="../steps/03.cuda.02.html"' in lesson, "the lesson is not at hand")
figure = re.search(r'src="\.\./(pictures/[^"]*\.svg)"', get("lessons/05_matmul.html")[1])
must(figure and get(figure[1])[2]["Content-Type"] == "image/svg+xml", "a lesson's figure is served as no picture")

# A file that does not compile, then one that is right.
state = state_when(lambda s: s["answer"], "no answer about the first file")
must(state["answer"]["outcome"] == "does not compile" and not state["answer"]["good"], f"a broken file: {state}")
must([q["answer"] for q in state["answer"]["questions"]] == [False, None, None, None], f"questions of a broken file: {state}")
must("expected" in state["answer"]["said"], f"the compiler's message is not shown: {state}")
state = state_when(lambda s: s["no_trace"], "a broken file has no word about its trace")
must(state["trace"] is None and get("trace")[0] == 404, "a trace of a broken file")
before = state["version"]
folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
window = Browser(folder.name) if chromium() else None
if window:
    window.open(address)
    window.until("document.getElementById('verdict')?.textContent === 'Your file: does not compile'", "the page does not show the verdict")
    must("expected" in window.text("said"), "the page does not show the compiler's message")
# klab's own parts in place, which a learner's file may not include.
root = answer[:answer.rindex("/kernels/")]
text = re.sub(r'#include "(kernels/transpose/[^"]+-inl\.h)"', lambda part: open(f"{root}/{part[1]}").read(), open(answer).read())
with open(work + ".new", "w") as file:
    file.write(text)
os.replace(work + ".new", work)
state = state_when(lambda s: s["answer"]["outcome"] != "does not compile", "the answer does not follow the file")
must(state["version"] > before and state["answer"]["passed"], f"klab's own answer does not pass: {state}")
must([q["answer"] for q in state["answer"]["questions"]] == [True] * 4, f"questions of klab's own answer: {state}")
must("\x1b" not in state["answer"]["said"] and "right?" in state["answer"]["said"], "the text of the terminal")
stores = [c for c in state["answer"]["counts"] if c["name"] == "store sectors"]
must(stores and stores[0]["good"] and stores[0]["yours"] == stores[0]["goal"] < stores[0]["parent"], f"counts: {state['answer']['counts']}")
state = state_when(lambda s: s["trace"], "no trace")
trace = get("trace")[1]
must("__syncthreads" in trace and "sectors/request" in trace, "the trace lacks source or counts")
if window:
    window.until("document.getElementById('verdict')?.textContent === 'Your file: passed'", "the page does not show that the file passed")
    must(window.value("document.querySelectorAll('#counted td.good').length") > 0, "the page lacks the counts")
    window.until("document.querySelector('#traced div')?.shadowRoot?.textContent.includes('__syncthreads')", "the page lacks the trace")
    for width in [1400, 400]:
        window.resize(width)
        must(window.value("document.documentElement.scrollWidth") <= width, f"the page is wider than a window of {width} pixels")
    must(not window.messages, f"the console has messages: {window.messages}")
    window.go(address + "lessons/05_matmul.html")
    must(window.value("document.images.length && [...document.images].every(i => i.naturalWidth > 0)"), "the figures of lesson 05 are not shown")
    window.end()
else:
    print("no chromium here: the page was not opened")
