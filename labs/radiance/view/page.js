// Shows pictures that klab makes of a field, from a camera that orbits, and the state of the run. It asks for one picture at a time, and
// for none while its window is hidden: that is what keeps a run that is not watched at its full speed.
"use strict";
(() => {
const by_id = id => document.getElementById(id);
const canvas = by_id("view"), picture = canvas.getContext("2d");
const client = Array.from(crypto.getRandomValues(new Uint8Array(8)), b => b.toString(16).padStart(2, "0")).join("");
const REST = 350;             // milliseconds after the last movement from which the picture gets finer
const MOST_ELEVATION = 1.55;  // radians
let scene = null, first = null, camera = null;
let state = null, lines = -1, gone = false;
let shown = {key: "", version: -1, width: 0};
let moved_at = 0, waiting = null, photo_key = "";

// ---- Requests -----------------------------------------------------------------------------------------------------------------
class Refused extends Error {
  constructor(status, text) { super(text || `klab refuses this: status ${status}`); this.status = status; }
}
async function ask(path, options = {}) {
  const reply = await fetch(path, {cache: "no-store", ...options});
  if (!reply.ok) throw new Refused(reply.status, await reply.text());
  return reply;
}
const pause_for = milliseconds => new Promise(done => setTimeout(done, milliseconds));
function while_hidden() {
  return new Promise(done => {
    if (!document.hidden) return done();
    document.addEventListener("visibilitychange", () => done(), {once: true});
  });
}

function say(text) {
  by_id("said").textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { by_id("said").textContent = ""; }, 6000);
}

// ---- Camera -------------------------------------------------------------------------------------------------------------------
function reset() { camera = {...first, target: [...first.target]}; }

function axes() {
  const ring = Math.cos(camera.elevation);
  const back = [ring * Math.cos(camera.azimuth), ring * Math.sin(camera.azimuth), Math.sin(camera.elevation)];
  const right = [-Math.sin(camera.azimuth), Math.cos(camera.azimuth), 0];
  const above = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2], back[0] * right[1] - back[1] * right[0]];
  return {right, above};
}
function freed() {  // from a view of the scene to a camera that moves
  if (by_id("camera").value !== "") { by_id("camera").value = ""; choose_camera(); }
}
function turn(azimuth, elevation) {
  freed();
  camera.azimuth += azimuth;
  camera.elevation = Math.min(MOST_ELEVATION, Math.max(-MOST_ELEVATION, camera.elevation + elevation));
  moved();
}
function move(x, y) {  // in widths of the picture
  freed();
  const {right, above} = axes(), reach = 2 * camera.distance * Math.tan(camera.fov / 2);
  camera.target = camera.target.map((t, i) => t - reach * (x * right[i] - y * above[i]));
  moved();
}
function zoom(factor) {
  freed();
  camera.distance = Math.min(1000, Math.max(0.01, camera.distance * factor));
  moved();
}
function moved() { moved_at = performance.now(); again(); }
function again() { if (waiting) waiting.abort(); }

const pointers = new Map();
canvas.addEventListener("pointerdown", e => { pointers.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture?.(e.pointerId); canvas.focus(); });
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, e => pointers.delete(e.pointerId));
canvas.addEventListener("pointermove", e => {
  const before = pointers.get(e.pointerId);
  if (!before || !camera) return;
  const now = [e.clientX, e.clientY], dx = now[0] - before[0], dy = now[1] - before[1], width = canvas.clientWidth || 1;
  const other = [...pointers].find(([id]) => id !== e.pointerId);
  pointers.set(e.pointerId, now);
  if (other) {
    const apart = p => Math.hypot(p[0] - other[1][0], p[1] - other[1][1]);
    zoom(apart(before) / Math.max(1, apart(now)));
    move(dx / 2 / width, dy / 2 / width);
  } else if (e.shiftKey || e.buttons === 2) move(dx / width, dy / width);
  else turn(-dx * 4 / width, dy * 4 / width);
});
canvas.addEventListener("contextmenu", e => e.preventDefault());
canvas.addEventListener("wheel", e => { e.preventDefault(); if (camera) zoom(Math.exp(0.0015 * e.deltaY)); }, {passive: false});
canvas.addEventListener("keydown", e => {
  if (!camera) return;
  const step = 0.08, arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
  if (arrows[e.key]) {
    const [x, y] = arrows[e.key];
    if (e.shiftKey) move(-step * x, step * y); else turn(step * x, step * y);
  } else if (e.key === "+" || e.key === "=") zoom(1 / 1.1);
  else if (e.key === "-" || e.key === "_") zoom(1.1);
  else if (e.key === "Home") { freed(); reset(); moved(); }
  else return;
  e.preventDefault();
});

// ---- Pictures -----------------------------------------------------------------------------------------------------------------
function draw(context, bytes, width, height) {
  const image = new ImageData(width, height), out = image.data;
  for (let i = 0, j = 0; i < bytes.length; i += 3, j += 4) {
    out[j] = bytes[i]; out[j + 1] = bytes[i + 1]; out[j + 2] = bytes[i + 2]; out[j + 3] = 255;
  }
  context.canvas.width = width;
  context.canvas.height = height;
  context.putImageData(image, 0, 0);
}

const chosen = () => document.querySelector("input[name=shows]:checked").value;
const exposure = () => by_id("exposure").value;

function query() {
  const box = by_id("rendered").getBoundingClientRect(), dense = Math.min(2, window.devicePixelRatio || 1);
  const side = pixels => Math.min(4096, Math.max(16, Math.round(pixels * dense)));
  const q = {client, shows: chosen(), size: `${side(box.width)},${side(box.height)}`, exposure: exposure()};
  const view = by_id("camera").value;
  if (view) q.view = view;
  else Object.assign(q, {target: camera.target.map(v => v.toFixed(5)).join(","), azimuth: camera.azimuth.toFixed(5), elevation: camera.elevation.toFixed(5),
                         distance: camera.distance.toFixed(5), fov: camera.fov.toFixed(5)});
  const crop = cropped();
  if (crop) Object.assign(q, crop);
  const key = new URLSearchParams(q).toString();
  if (key === shown.key) Object.assign(q, {version: shown.version, width: shown.width});
  if (performance.now() - moved_at < REST) q.moving = 1;
  return {key, text: new URLSearchParams(q).toString()};
}

function caption(facts) {
  const parts = [`${facts.width} × ${facts.height}`];
  if (facts.width < facts.full_width) parts[0] += ` of ${facts.full_width} wide`;
  parts.push(`${Math.round(1000 * facts.seconds)} ms`);
  if (state && state.phase === "training") parts.push(`step ${facts.version}`);
  if (facts.psnr != null) parts.push(`PSNR ${facts.psnr.toFixed(2)} dB at this size`);
  return parts.join("  ·  ");
}

async function pictures() {
  for (;;) {
    await while_hidden();
    if (gone || !camera) { await pause_for(300); continue; }
    waiting = new AbortController();
    const moving = performance.now() - moved_at < REST;
    const timer = moving ? setTimeout(again, REST) : 0;  // then the same picture is asked for at rest
    const {key, text} = query();
    try {
      const reply = await ask("frame?" + text, {signal: waiting.signal});
      if (reply.status === 204) continue;
      const facts = JSON.parse(reply.headers.get("X-Klab"));
      draw(picture, new Uint8Array(await reply.arrayBuffer()), facts.width, facts.height);
      by_id("caption").textContent = caption(facts);
      shown = {key, version: facts.version, width: facts.width};
    } catch (e) {
      if (e.name === "AbortError") continue;
      if (e instanceof Refused && e.status === 400) say(e.message);
      await pause_for(700);  // state() says what is wrong
    } finally {
      clearTimeout(timer);
      waiting = null;
    }
  }
}

async function photo() {
  const view = by_id("camera").value, key = `${view} ${exposure()}`;
  by_id("beside").hidden = !view;
  by_id("pictures").classList.toggle("two", !!view);
  if (!view || key === photo_key) return;
  photo_key = key;
  try {
    const reply = await ask("photo?" + new URLSearchParams({view, width: 1200, exposure: exposure()}));
    const facts = JSON.parse(reply.headers.get("X-Klab"));
    const bytes = new Uint8Array(await reply.arrayBuffer());
    if (photo_key !== key) return;
    draw(by_id("photo").getContext("2d"), bytes, facts.width, facts.height);
    const [set, index] = view.split(":"), list = scene[set];
    by_id("photo-caption").textContent = `${set === "test" ? "test view" : "training view"} ${index}: ${text_of(list[index][0])}`;
  } catch (e) {
    photo_key = "";
    say(e.message);
  }
}

// ---- Controls -----------------------------------------------------------------------------------------------------------------
const text_of = name => typeof name === "string" ? name : String(name);

function choose_camera() {
  const error = document.querySelector("input[value=error]"), view = by_id("camera").value;
  error.disabled = !view;
  error.parentElement.title = view ? "" : "choose a training or test view as the camera";
  if (!view && error.checked) document.querySelector("input[value=color]").checked = true;
  photo();
  again();
}
function step_camera(by) {
  const list = by_id("camera");
  list.selectedIndex = (list.selectedIndex + by + list.length) % list.length;
  choose_camera();
}

function cropped() {
  const sliders = [...document.querySelectorAll("#crop-sliders input")];
  if (!sliders.length || sliders.every(s => s.value === s.defaultValue)) return null;
  const at = (axis, end) => +by_id(`crop-${end}-${axis}`).value;
  const low = ["x", "y", "z"].map(a => Math.min(at(a, "low"), at(a, "high"))), high = ["x", "y", "z"].map(a => Math.max(at(a, "low"), at(a, "high")));
  return {low: low.join(","), high: high.join(",")};
}

function make_controls() {
  const list = by_id("camera");
  for (const [set, title] of [["test", "test"], ["train", "training"]]) {
    if (!scene[set].length) continue;
    const group = document.createElement("optgroup");
    group.label = `${title} views`;
    scene[set].forEach((v, i) => group.append(new Option(`${title} ${i}: ${text_of(v[0])}`, `${set}:${i}`)));
    list.append(group);
  }
  for (const id of ["camera", "before", "after"]) by_id(id).disabled = list.length < 2;
  list.addEventListener("change", choose_camera);
  by_id("before").addEventListener("click", () => step_camera(-1));
  by_id("after").addEventListener("click", () => step_camera(1));
  by_id("shows").addEventListener("change", again);
  by_id("exposure").addEventListener("input", () => {
    by_id("exposure-text").textContent = (+exposure()).toFixed(1);
    photo();
    moved();
  });
  const low = 0.5 - scene.side / 2, high = 0.5 + scene.side / 2;
  for (const axis of ["x", "y", "z"]) {
    const row = document.createElement("div");
    row.className = "axis";
    row.append(Object.assign(document.createElement("span"), {textContent: axis}));
    for (const end of ["low", "high"]) {
      const slider = Object.assign(document.createElement("input"), {type: "range", id: `crop-${end}-${axis}`, min: low, max: high, step: scene.side / 200});
      slider.setAttribute("value", end === "low" ? low : high);
      slider.setAttribute("aria-label", `${axis}, ${end === "low" ? "lower" : "upper"} end`);
      slider.disabled = scene.no_crop !== "";
      slider.addEventListener("input", moved);
      row.append(slider);
    }
    by_id("crop-sliders").append(row);
  }
  by_id("whole").disabled = scene.no_crop !== "";
  by_id("whole").addEventListener("click", () => {
    for (const s of document.querySelectorAll("#crop-sliders input")) s.value = s.defaultValue;
    moved();
  });
  by_id("no-crop").hidden = scene.no_crop === "";
  by_id("no-crop").textContent = scene.no_crop;
  by_id("pause").addEventListener("click", async () => {
    try {
      await ask(`pause?on=${state && state.phase === "paused" ? 0 : 1}`, {method: "POST"});
      await look();
    } catch (e) { say(e.message); }
  });
  by_id("save").addEventListener("click", async () => {
    by_id("save").disabled = true;
    try {
      const done = await (await ask("save", {method: "POST"})).json();
      say(`saved at step ${done.step}: ${done.saved}`);
    } catch (e) { say(e.message); }
    by_id("save").disabled = false;
  });
  choose_camera();
}

// ---- State of the run ---------------------------------------------------------------------------------------------------------
function element(name, more, ...children) {
  const made = Object.assign(document.createElement(name), more);
  made.append(...children);
  return made;
}
const percent = share => `${(100 * share).toFixed(1)} %`;
function short(v) {
  if (v === 0) return "0";
  return Math.abs(v) >= 1e4 || Math.abs(v) < 1e-3 ? v.toExponential(1) : String(+v.toPrecision(3));
}
function duration(s) { return s < 100 ? `${s.toFixed(0)} s` : `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")} min`; }

function show_curves(curves) {
  by_id("curves").replaceChildren(...curves.map(c => {
    const points = c.logarithmic ? c.points.filter(p => p[1] > 0) : c.points;
    if (!points.length) return "";
    const place = v => c.logarithmic ? Math.log(v) : v;
    const values = points.map(p => p[1]), low = Math.min(...values), high = Math.max(...values), begin = points[0][0], end = points[points.length - 1][0];
    const x = t => end > begin ? 100 * (t - begin) / (end - begin) : 50;
    // A curve whose ends read the same is level, as its numbers say.
    const y = v => short(high) !== short(low) ? 47 - 44 * (place(v) - place(low)) / (place(high) - place(low)) : 25;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 100 50");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${c.title} from ${short(values[0])} to ${short(values[values.length - 1])}`);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("points", points.map(p => `${x(p[0]).toFixed(2)},${y(p[1]).toFixed(2)}`).join(" "));
    svg.append(line);
    const unit = c.unit ? ` ${c.unit}` : "";
    return element("div", {className: "curve"},
        element("div", {className: "curve-title"}, element("b", {textContent: c.title}), element("span", {textContent: short(values[values.length - 1]) + unit})),
        svg,
        element("div", {className: "curve-range"}, element("span", {textContent: `${short(low)} to ${short(high)}${unit}${c.logarithmic ? ", log" : ""}`}),
                element("span", {textContent: `${duration(begin)} to ${duration(end)}`})));
  }));
}

function show_stages(stages) {
  if (!stages.length) return;
  const sorted = [...stages].sort((a, b) => b[1] - a[1]), most = 10, rest = sorted.slice(most).reduce((sum, s) => sum + s[1], 0);
  const list = sorted.slice(0, most);
  if (rest > 0) list.push([`${sorted.length - most} others`, rest]);
  by_id("stages").replaceChildren(...list.map(([name, share]) => {
    const fill = element("i", {});
    fill.style.width = `${100 * share / list[0][1]}%`;
    return element("div", {className: "stage", title: name}, element("span", {textContent: name}), element("div", {className: "bar"}, fill), element("span", {textContent: percent(share)}));
  }));
}

function show_cost(s) {
  const windows = `${s.frames.browsers} ${s.frames.browsers === 1 ? "window watches" : "windows watch"}, ${s.frames.per_second.toFixed(1)} pictures a second`;
  const server = `the server used ${s.server_seconds.toFixed(1)} s of a core`;
  by_id("cost").textContent = s.phase === "training" || s.phase === "paused"
    ? `Pictures take ${percent(s.share)} of the time now, at most ${percent(s.most_share)}; ${duration(s.viewing_seconds)} of ${duration(s.viewing_seconds + s.training_seconds)} in all, which do not count as training. `
      + `${windows}; ${server}. A closed or hidden window costs nothing.`
    : `${windows}; ${server}.`;
}

function show_state(s) {
  state = s;
  by_id("run").textContent = s.run;
  document.title = `${s.run} · klab`;
  const words = {training: "training", paused: "paused", trained: "trained: evaluating", showing: "trained model"};
  by_id("phase").textContent = words[s.phase];
  by_id("phase").className = "pill " + s.phase;
  by_id("facts").textContent = `${s.field}, step ${s.step}` + (s.phase === "showing" ? "" : `, ${duration(s.training_seconds)} of training`);
  const training = s.phase === "training" || s.phase === "paused";
  by_id("pause").hidden = by_id("save").hidden = !training;
  by_id("pause").textContent = s.phase === "paused" ? "Go on" : "Pause";
  if (s.curves) show_curves(s.curves);
  lines = s.lines;
  show_stages(s.stages);
  show_cost(s);
}

function show_gone(title, text, commands) {
  gone = title !== "";
  by_id("gone").hidden = !gone;
  by_id("gone-title").textContent = title;
  by_id("gone-text").textContent = text;
  by_id("gone-commands").textContent = commands;
  if (!gone) return;
  by_id("phase").textContent = "gone";
  by_id("phase").className = "pill gone";
  by_id("pause").hidden = by_id("save").hidden = true;
}

async function look() {
  const s = await (await ask(`state?lines=${lines}`)).json();
  if (gone) show_gone("", "", "");
  show_state(s);
}

function tell_gone() {
  const run = state ? state.run : "RUN", step = state ? state.step : 0;
  if (state && (state.phase === "trained" || state.phase === "showing"))
    show_gone(state.phase === "trained" ? "The run has ended" : "klab view has ended",
              `The last picture stays here, of step ${step}. To look further:`, `./klab view ${run}`);
  else
    show_gone("klab no longer answers", `Its process ended or was killed at about step ${step}. The run continues from its last checkpoint, if it has one:`,
              `./klab train --resume ${run}\n./klab view ${run}`);
}

async function states() {
  let failures = 0;
  for (;;) {
    await while_hidden();
    try {
      if (!scene) {
        scene = await (await ask("views")).json();
        first = scene.camera;
        reset();
        make_controls();
      }
      await look();
      failures = 0;
    } catch (e) {
      if (e instanceof Refused && e.status === 503) by_id("phase").textContent = e.message;
      else if (e instanceof Refused && e.status === 403)
        show_gone("This address is not valid any more", "Another klab answers here. It has printed its own address, with another token.", "");
      else if (e instanceof Refused && e.status !== 410) say(e.message);
      else if (++failures > 1) tell_gone();
    }
    await pause_for(failures > 1 ? 3000 : 1000);
  }
}

new ResizeObserver(again).observe(by_id("rendered"));
window.klab = {get camera() { return camera; }, get shown() { return shown; }, get state() { return state; }, get gone() { return gone; }};
states();
pictures();
})();
