#!/usr/bin/env python3
"""Opens a page of klab export in headless Chromium, uses it, and compares its pictures with klab's.

  page_in_browser.py PAGE.html KLAB.png       pictures, mouse, touch, keys, console, requests; prints the PSNR
  page_in_browser.py PAGE.html KLAB.png --picture-only
  page_in_browser.py PAGE.html --no-webgl     the still picture, and the sentence that says why

Exit code 77: Chromium has no WebGL2 here.
"""
import base64, json, math, os, re, shutil, subprocess, sys, tempfile

sys.dont_write_bytecode = True
from png_file import pixels_of

LEAST = 40  # dB between the page's picture and klab's

# Runs after the page's own script. Pictures are drawn while it runs, so nothing waits for a clock.
DRIVER = """
<script>
(() => {
  const out = {gl: false, drawn: false, said: document.getElementById("said").textContent,
               still: !document.getElementById("still").hidden, still_width: document.getElementById("still").naturalWidth,
               canvas: !document.getElementById("view").hidden};
  const bytes = side => { let s = ""; for (const b of klab.picture(side, side)) s += String.fromCharCode(b); return btoa(s); };
  out.gl = !!document.createElement("canvas").getContext("webgl2");
  if (window.klab) {
    const view = document.getElementById("view");
    const point = (name, x, y, id = 1, more = {}) => view.dispatchEvent(
        new PointerEvent(name, {pointerId: id, clientX: x, clientY: y, buttons: 1, bubbles: true, ...more}));
    const key = name => view.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
    const views = {};
    const take = (name, side = 32) => { views[name] = bytes(side); };
    take("whole", SIDE);
    if (USED) {
      take("first");
      point("pointerdown", 100, 100); point("pointermove", 180, 120); point("pointerup", 180, 120);
      take("dragged");
      key("Home"); take("home");
      key("ArrowLeft"); take("arrow");
      key("Home"); key("+"); take("plus");
      key("Home"); view.dispatchEvent(new WheelEvent("wheel", {deltaY: 300, bubbles: true, cancelable: true})); take("wheel");
      key("Home");
      point("pointerdown", 100, 100, 1, {pointerType: "touch"}); point("pointerdown", 200, 100, 2, {pointerType: "touch"});
      point("pointermove", 300, 100, 2, {pointerType: "touch"}); point("pointerup", 100, 100, 1); point("pointerup", 300, 100, 2);
      take("pinch");
    }
    out.views = views;
    out.drawn = true;
  }
  out.resources = performance.getEntriesByType("resource").map(e => e.name);
  const result = document.createElement("pre");
  result.textContent = "RESULT" + btoa(unescape(encodeURIComponent(JSON.stringify(out)))) + "END";
  document.body.append(result);
})();
</script>
</body>"""


def fail(words):
    print("FAILED: " + words)
    sys.exit(1)


def psnr(a, b):
    squares = sum((x - y) ** 2 for x, y in zip(a, b)) / len(a)
    return 10 * math.log10(255 ** 2 / squares) if squares else 99.0


def open_page(page, side, used, flags):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "page.html")
        text = open(page, encoding="utf-8").read()
        assert text.count("</body>") == 1
        open(copy, "w", encoding="utf-8").write(text.replace("</body>", DRIVER.replace("SIDE", str(side)).replace("USED", str(int(used)))))
        done = subprocess.run(
            [shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
             "--user-data-dir=" + os.path.join(folder, "profile"), "--window-size=400,300", "--enable-logging=stderr", *flags,
             "--dump-dom", "file://" + copy],
            capture_output=True, text=True, timeout=400)
    result = re.search("<pre>RESULT([A-Za-z0-9+/=]*)END</pre>", done.stdout)
    # The driver says that reading a picture back stalls the GPU. The test reads, the page does not.
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line and "GPU stall due to ReadPixels" not in line]
    if not result:
        print(done.stdout[:2000], done.stderr[-2000:])
        fail("the page gave no result")
    return json.loads(base64.b64decode(result.group(1))), console


def main():
    page, other = sys.argv[1:3]
    used = "--picture-only" not in sys.argv
    text = open(page, encoding="utf-8").read()
    links = [link for link in re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]*)""", text) if not link.startswith("data:")]
    if links or "://" in text:
        fail(f"the page has links: {links[:3]} {re.findall('.{20}://.{20}', text)[:3]}")
    if "Content-Security-Policy\" content=\"default-src 'none'" not in text:
        fail("the page does not forbid requests")

    if other == "--no-webgl":
        out, console = open_page(page, 64, False, ["--disable-3d-apis"])
        if out["gl"]:
            fail("this Chromium has WebGL2 in spite of --disable-3d-apis")
        if not (out["still"] and not out["canvas"] and out["still_width"] > 100 and "no WebGL2" in out["said"]):
            fail(f"no still picture without WebGL2: {out}")
        print("without WebGL2: " + out["said"])
    else:
        width, height, wanted = pixels_of(other)
        out, console = open_page(page, width, used, ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
        if not out["gl"]:
            print("SKIPPED: this Chromium has no WebGL2")
            sys.exit(77)
        if not out["drawn"] or out["still"] or not out["canvas"]:
            fail(f"the page does not draw: {out['said']}")
        rgb = {}
        for name, data in out["views"].items():
            rgba = base64.b64decode(data)
            rgb[name] = bytes(b for i, b in enumerate(rgba) if i % 4 != 3)
        if len(set(wanted)) < 32:
            fail("klab's picture shows nothing to compare")
        if len(rgb["whole"]) != len(wanted):
            fail(f"{len(rgb['whole'])} bytes for {width}x{height} pixels")
        against = psnr(rgb["whole"], wanted)
        print(f"{against:.2f} dB between the page's view and klab's, {width}x{height}")
        if not against >= LEAST:
            fail(f"below {LEAST} dB")
        if used:
            if rgb["home"] != rgb["first"]:
                fail("Home does not go back to the first view")
            for name in ("dragged", "arrow", "plus", "wheel", "pinch"):
                moved = psnr(rgb[name], rgb["first"])
                print(f"{name}: {moved:.1f} dB from the first view")
                if moved > 35:
                    fail(f"{name} does not change the view")
    if out["resources"]:
        fail(f"the page requested {out['resources']}")
    if console:
        fail("the console has messages: " + "\n".join(console))


if __name__ == "__main__":
    main()
