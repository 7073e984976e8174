"""Opens a site that `klab site` wrote in headless Chromium, as files: site_in_browser.py FOLDER [PAGE...]. Every page fits windows of 1400
and 400 pixels, is dark where the reader's scheme is, has no message in the console and loads only its own files; the search finds places."""
import os, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "web"))
from browser import Browser

PAGES = ["index.html", "lessons/index.html", "lessons/03_transpose.html", "lessons/05_matmul.html", "lessons/14_volume_rendering.html", "steps/index.html", "steps/03.cuda.02.html",
         "ladders/05_matmul.html", "traces/transpose.cuda.02_shared_tile.html", "glossary.html", "docs/files.html"]
folder = os.path.abspath(sys.argv[1])
pages = sys.argv[2:] or PAGES
faults = 0


def must(good, what):
    global faults
    if not good:
        faults += 1
        print("FAILED:", what)


def at(page):
    return f"file://{folder}/{page}"


# Brightness of a color as style computes it, 0 to 255.
BRIGHTNESS = "(c => c.match(/[0-9.]+/g).slice(0, 3).reduce((s, v) => s + +v, 0) / 3)(getComputedStyle(document.body).%s)"
# The elements that reach farthest to the right, to name what is too wide; what lies in a part that scrolls by itself may.
WIDEST = """[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .filter(e => { for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== 'visible') return false; return true; })
  .slice(0, 3).map(e => e.tagName + ' ' + e.textContent.slice(0, 60))"""
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    b = Browser(profile)
    b.open("about:blank")
    for page in pages:
        b.go(at(page))
        for width in [1400, 400]:
            b.resize(width)
            wide = b.value("document.documentElement.scrollWidth")
            must(wide <= width, f"{page}: {wide} pixels wide in a window of {width}: {b.value(WIDEST)}")
        for scheme in ["light", "dark"]:
            b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            paper, ink = (b.value(BRIGHTNESS % part) for part in ("backgroundColor", "color"))
            must(abs(paper - ink) > 150 and (paper > ink) == (scheme == "light"), f"{page}: text of brightness {ink} on {paper} where the scheme is {scheme}")
        b.call("Emulation.setEmulatedMedia", features=[])
        loaded = b.value("performance.getEntriesByType('resource').map(e => e.name)")
        must(all(name.startswith((f"file://{folder}/", "data:")) for name in loaded), f"{page}: loads {loaded}")
        broken = b.value("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        must(not broken, f"{page}: pictures that are not shown: {broken}")
        must(not b.messages, f"{page}: the console has messages: {b.messages[:3]}")
        b.messages.clear()

    # The form at the top of a page leads to the search, which shows places with the words marked, and what is typed there narrows it.
    b.go(at("lessons/03_transpose.html"))
    b.value("document.querySelector('header form input').value = 'accumulators'; document.querySelector('header form').requestSubmit()")
    b.until("location.pathname.endsWith('/search.html') && document.querySelectorAll('#found li').length > 0", "the search finds nothing")
    links = b.value("[...document.querySelectorAll('#found a')].map(a => a.getAttribute('href'))")
    must(any(link.startswith("lessons/05_matmul.html#") for link in links), f"the search for accumulators finds {links[:5]}")
    must(b.value("document.querySelector('#found mark').textContent.toLowerCase()") == "accumulators", "the word is not marked")
    b.value("(i => { i.value = 'xyzzyx'; i.dispatchEvent(new Event('input')); })(document.getElementById('query'))")
    must(b.text("count") == "0 places" and b.value("document.querySelectorAll('#found li').length") == 0, f"'xyzzyx': {b.text('count')}")
    b.value("(i => { i.value = 'coalescing'; i.dispatchEvent(new Event('input')); })(document.getElementById('query'))")
    first = b.value("document.querySelector('#found a')?.getAttribute('href')")
    must(first == "glossary.html#coalescing", f"the first place of 'coalescing' is {first}")
    must(not b.messages, f"the search: the console has messages: {b.messages[:3]}")
    b.end()
print(f"{len(pages)} pages opened")
sys.exit(1 if faults else 0)
