// Shows a trained field: textures from the blocks of the page, a camera that orbits, and a picture that gets finer while it rests.
// Fields are drawn along rays here, Gaussians by splats.js.
"use strict";
(() => {
const field = JSON.parse(text_of("field"));
const canvas = document.getElementById("view"), still = document.getElementById("still");
const BUSY = 33;   // milliseconds of a picture while the camera moves; coarser pictures keep to it
const PIECE = 25;  // milliseconds of drawing between two looks at the events while it rests

function text_of(name) { return document.getElementById("block-" + name).textContent; }

function bytes_of(name) {
  const text = atob(text_of(name)), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  document.getElementById("block-" + name).remove();  // its memory is free from here on
  return bytes;
}

if (innerWidth < 600) document.getElementById("panel").open = false;  // there it would cover the picture

function say(text) { document.getElementById("said").textContent = text; }

// ---- WebGL --------------------------------------------------------------------------------------------------------------------
let gl, program, places;
let paint = null;  // draws Gaussians; null: the field has rays
const most = () => gl.getParameter(gl.MAX_TEXTURE_SIZE);

// The width of a texture that holds so many numbers row by row: a power of two, no higher than the browser allows.
function width_for(texels) {
  let width = 256;
  while (width * most() < texels || width * width < texels) width *= 2;
  if (width > most()) throw Error(`a texture of ${texels} texels is larger than this browser allows`);
  return width;
}

// Uploads an array whose rows have `width` texels of `channels` numbers, filled up with zeros.
function texture(array, width, channels, sized, format, type) {
  const height = Math.max(1, Math.ceil(array.length / channels / width));
  const filled = new array.constructor(width * height * channels);
  filled.set(array);
  const made = gl.createTexture();
  gl.activeTexture(gl.TEXTURE7);
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texStorage2D(gl.TEXTURE_2D, 1, sized, width, height);
  gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, format, type, filled);
  for (const each of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, each, gl.NEAREST);
  for (const each of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, each, gl.CLAMP_TO_EDGE);
  return made;
}

// What the fields' textures hold, by the name of the numbers and how many a texel has.
function texture_of(numbers, channels, bytes, width) {
  if (numbers == "bits") return texture(ranked(new Uint32Array(bytes.buffer)), width, 2, gl.RG32UI, gl.RG_INTEGER, gl.UNSIGNED_INT);
  const format = [gl.RED, gl.RG, gl.RGB, gl.RGBA][channels - 1];
  if (numbers == "float")
    return texture(new Float32Array(bytes.buffer), width, channels, [gl.R32F, gl.RG32F, gl.RGB32F, gl.RGBA32F][channels - 1], format, gl.FLOAT);
  const sized = [gl.R16F, gl.RG16F, gl.RGB16F, gl.RGBA16F][channels - 1];
  return texture(new Uint16Array(bytes.buffer), width, channels, sized, format, gl.HALF_FLOAT);
}

// Puts next to each word of bits how many ones lie before it.
function ranked(words) {
  const pairs = new Uint32Array(2 * words.length);
  let before = 0;
  words.forEach((word, i) => {
    pairs[2 * i] = word, pairs[2 * i + 1] = before;
    for (; word; word &= word - 1) ++before;
  });
  return pairs;
}

function compiled(kind, source) {
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw Error("the shader is refused: " + gl.getShaderInfoLog(shader));
  return shader;
}

function linked(vertex, fragment) {
  const made = gl.createProgram();
  gl.attachShader(made, compiled(gl.VERTEX_SHADER, vertex));
  gl.attachShader(made, compiled(gl.FRAGMENT_SHADER, fragment));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw Error("the shader is refused: " + gl.getProgramInfoLog(made));
  return made;
}

function bind(unit, name, made) {
  gl.activeTexture(gl.TEXTURE0 + unit);
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.uniform1i(places(name), unit);
}

// ---- Occupancy bits: each coarser level has a bit for eight of the level below, which are one byte in Morton order -----------
function coarser_levels(bytes, cascades, grid) {
  const levels = [bytes];
  for (let side = grid / 2; side >= 2 && levels.length < 5; side /= 2) {
    const below = levels.at(-1), level = new Uint8Array(below.length / 8);
    for (let i = 0; i < below.length; ++i) if (below[i]) level[i >> 3] |= 1 << (i & 7);
    levels.push(level);
  }
  const begin = [];
  let count = 0;
  for (const level of levels) begin.push(count), count += level.length;
  const all = new Uint8Array(count);
  levels.forEach((level, i) => all.set(level, begin[i]));
  return {all, begin};
}

// ---- Networks: a layer is a matrix in blocks of 4x4, in a uniform block where it fits, else in a texture ---------------------
// Returns the text of two functions, and of what they read.
function networks(layers, in_blocks) {
  let text = "", at = 0;
  const calls = {};
  layers.forEach((l, i) => {
    const count = l.from * l.to;
    let block = `layer${i}[o * ${l.from} + i]`;
    if (in_blocks) text += `layout(std140) uniform Layer${i} { mat4 layer${i}[${count}]; };\n`;
    else block = `block_at(${at} + o * ${l.from} + i)`;
    text += `void apply${i}(vec4 x[${l.from}], out vec4 y[${l.to}]) {
  for (int o = 0; o < ${l.to}; ++o) {
    vec4 sum = vec4(0);
    for (int i = 0; i < ${l.from}; ++i) sum += ${block} * x[i];
    y[o] = ${l.relu ? "max(sum, 0.0)" : "sum"};
  }
}\n`;
    (calls[l.network] ??= []).push(i);
    at += count;
  });
  for (const [name, list] of Object.entries(calls)) {
    text += `void ${name}_network(vec4 x[${layers[list[0]].from}], out vec4 y[${layers[list.at(-1)].to}]) {\n`;
    list.forEach((i, n) => {
      const last = n + 1 == list.length, to = last ? "y" : "h" + n;
      if (!last) text += `  vec4 ${to}[${layers[i].to}];\n`;
      text += `  apply${i}(${n == 0 ? "x" : "h" + (n - 1)}, ${to});\n`;
    });
    text += "}\n";
  }
  const fetched = `uniform sampler2D weights;
vec4 weight_at(int at) { return texelFetch(weights, ivec2(at & WEIGHTS_WIDTH - 1, at / WEIGHTS_WIDTH), 0); }
mat4 block_at(int b) { return mat4(weight_at(4 * b), weight_at(4 * b + 1), weight_at(4 * b + 2), weight_at(4 * b + 3)); }\n`;
  return (in_blocks ? "" : fetched) + text;
}

const WHOLE_PICTURE = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }`;

// Uploads the field and makes the program that draws it.
function build() {
  if (field.gaussians) {
    paint = gaussian_painter(gl, field, {bytes_of, text_of, linked, texture_of, width_for});
    return;
  }
  const defines = {...field.defines}, layers = field.layers;
  const {all, begin} = coarser_levels(bytes_of("occupancy"), +defines.CASCADES, +defines.GRID);
  defines.MIPS = begin.length - 1;
  defines.CELLS_WIDTH = width_for(all.length);
  const cells = texture(all, defines.CELLS_WIDTH, 1, gl.R8UI, gl.RED_INTEGER, gl.UNSIGNED_BYTE);
  const textures = field.textures.map(({name, numbers, channels}) => {
    const bytes = bytes_of(name), width = width_for(bytes.length / (numbers == "bits" ? 4 : 2 * channels));
    defines[name.toUpperCase() + "_WIDTH"] = width;
    return [name, texture_of(numbers, channels, bytes, width)];
  });
  const weights = layers.length ? new Float32Array(bytes_of("weights").buffer) : new Float32Array();
  const in_blocks = layers.length <= gl.getParameter(gl.MAX_FRAGMENT_UNIFORM_BLOCKS) &&
      layers.every(l => 64 * l.from * l.to <= gl.getParameter(gl.MAX_UNIFORM_BLOCK_SIZE));
  defines.WEIGHTS_WIDTH = width_for(weights.length / 4);

  const lines = Object.entries(defines).map(([name, value]) => `#define ${name} ${value}\n`).join("");
  program = linked(WHOLE_PICTURE, "#version 300 es\n" + lines + text_of("common") + text_of("harmonics") + networks(layers, in_blocks) +
                                      text_of("shader"));
  gl.useProgram(program);
  const known = {};
  places = name => known[name] ??= gl.getUniformLocation(program, name);
  bind(0, "cells", cells);
  textures.forEach(([name, made], i) => bind(i + 1, name, made));
  gl.uniform1iv(places("cell_begin"), begin);
  if (field.levels) {
    gl.uniform1fv(places("scales"), field.levels.map(l => l.scale));
    gl.uniform4uiv(places("numbers"), field.levels.flatMap(l => [l.points, l.offset, l.entries, l.bits]));
  }
  if (!in_blocks) {
    bind(6, "weights", texture(weights, defines.WEIGHTS_WIDTH, 4, gl.RGBA32F, gl.RGBA, gl.FLOAT));
    return;
  }
  let at = 0;
  layers.forEach((l, i) => {
    const buffer = gl.createBuffer(), count = 16 * l.from * l.to;
    gl.bindBufferBase(gl.UNIFORM_BUFFER, i, buffer);
    gl.bufferData(gl.UNIFORM_BUFFER, weights.subarray(at, at + count), gl.STATIC_DRAW);
    gl.uniformBlockBinding(program, gl.getUniformBlockIndex(program, "Layer" + i), i);
    at += count;
  });
}

// ---- Camera: on a sphere around a target, z up, as `klab render` places it -----------------------------------------------------
const first_view = field.camera;
const camera = {};
function reset() { Object.assign(camera, first_view, {target: [...first_view.target]}); }

function axes() {
  const ring = Math.cos(camera.elevation);
  const back = [ring * Math.cos(camera.azimuth), ring * Math.sin(camera.azimuth), Math.sin(camera.elevation)];
  const right = [-Math.sin(camera.azimuth), Math.cos(camera.azimuth), 0];
  const above = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2], back[0] * right[1] - back[1] * right[0]];
  return {back, right, above, eye: back.map((b, i) => camera.target[i] + camera.distance * b)};
}

function turn(azimuth, elevation) {
  camera.azimuth += azimuth;
  camera.elevation = Math.min(1.55, Math.max(-1.55, camera.elevation + elevation));
  moved();
}
function zoom(factor) {
  camera.distance = Math.min(100, Math.max(0.02, camera.distance * factor));
  moved();
}
function shift(x, y) {  // in units of the picture's shorter side
  const {right, above} = axes(), span = 2 * camera.distance * Math.tan(camera.fov / 2);
  camera.target = camera.target.map((t, i) => t - span * (x * right[i] - y * above[i]));
  moved();
}

// ---- Pictures ----------------------------------------------------------------------------------------------------------------
let frame, held = {width: 0, height: 0};  // the framebuffer that is drawn into, and its size

function hold(width, height) {
  if (frame && held.width == width && held.height == height) return;
  if (frame) gl.deleteFramebuffer(frame), gl.deleteTexture(held.texture);
  const made = gl.createTexture();
  gl.activeTexture(gl.TEXTURE7);
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, width, height);
  frame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, made, 0);
  held = {width, height, texture: made};
}

// Draws rows [from, to), counted from the bottom, of a picture of that size. Gaussians are drawn in all rows.
function draw_rows(width, height, from, to) {
  const {eye, right, above, back} = axes(), focal = 0.5 * Math.min(width, height) / Math.tan(camera.fov / 2);
  if (paint) return paint(frame, width, height, {eye, right, above, back}, focal);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  // A column and a row more: a picture that is stretched is interpolated with what lies behind its edge.
  gl.viewport(0, 0, width + 1, height + 1);
  gl.enable(gl.SCISSOR_TEST);
  gl.scissor(0, from, width + 1, to - from + (to == height));
  gl.uniform3fv(places("eye"), eye);
  gl.uniform3fv(places("right"), right);
  gl.uniform3fv(places("above"), above);
  gl.uniform3fv(places("back"), back);
  gl.uniform2f(places("size"), width, height);
  gl.uniform1f(places("focal"), focal);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
  gl.disable(gl.SCISSOR_TEST);
}

// Waits until what was drawn is there: reading a pixel is the only wait that every browser has.
const one = new Uint8Array(4);
function wait() { gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, one); }

// Shows rows [from, to) of the picture on the canvas.
function show(width, height, from, to) {
  gl.bindFramebuffer(gl.READ_FRAMEBUFFER, frame);
  gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
  const scale = canvas.height / height;
  gl.blitFramebuffer(0, from, width, to, 0, Math.round(from * scale), canvas.width, Math.round(to * scale), gl.COLOR_BUFFER_BIT,
                     width == canvas.width ? gl.NEAREST : gl.LINEAR);
}

let share = 0.25, is_due = true, is_rough = true, next_row = 0, rows = 8, moved_at = 0, asked = false;

function moved() {
  is_due = is_rough = true;
  moved_at = performance.now();
  ask();
}
function ask() {
  if (!asked && gl && !gl.isContextLost()) asked = true, requestAnimationFrame(tick);
}

function fit_canvas() {
  const dots = Math.min(devicePixelRatio || 1, 2), limit = Math.min(most(), 4096);
  const width = Math.min(limit, Math.max(1, Math.round(canvas.clientWidth * dots)));
  const height = Math.min(limit, Math.max(1, Math.round(canvas.clientHeight * dots)));
  if (canvas.width != width || canvas.height != height) canvas.width = width, canvas.height = height, is_due = is_rough = true;
  hold(width, height);
}

function tick() {
  asked = false;
  fit_canvas();
  const begin = performance.now();
  if (is_due) {  // a whole picture, with as many pixels as time allows
    const width = Math.max(16, Math.round(canvas.width * share)), height = Math.max(16, Math.round(canvas.height * share));
    const w = Math.min(width, canvas.width), h = Math.min(height, canvas.height);
    draw_rows(w, h, 0, h);
    wait();
    show(w, h, 0, h);
    const took = Math.max(1, performance.now() - begin);
    rows = Math.max(1, Math.round(h * share * PIECE / took));  // of the whole width
    say(`${w} × ${h} pixels, ${took > 100 ? (1000 / took).toFixed(1) : Math.round(1000 / took)} pictures a second`);
    share = Math.min(1, Math.max(1 / 16, share * Math.min(2, Math.max(0.3, Math.sqrt(BUSY / took)))));
    is_due = false;
    is_rough = w < canvas.width || h < canvas.height;
    next_row = canvas.height;
    if (is_rough) ask();
    return;
  }
  if (!is_rough) return;
  if (begin - moved_at < 200) return ask();
  // At rest: the same picture in all its pixels, a few rows at a time from the top.
  const from = paint ? 0 : Math.max(0, next_row - rows);
  draw_rows(canvas.width, canvas.height, from, next_row);
  wait();
  show(canvas.width, canvas.height, from, next_row);
  const took = Math.max(1, performance.now() - begin);
  rows = Math.max(1, Math.round(rows * Math.min(2, Math.max(0.3, PIECE / took))));
  next_row = from;
  if (next_row == 0) is_rough = false, say(`${canvas.width} × ${canvas.height} pixels`);
  else ask();
}

// ---- Mouse, touch, keys ------------------------------------------------------------------------------------------------------
const fingers = new Map();
const middle = () => { const p = [...fingers.values()]; return [(p[0].x + p.at(-1).x) / 2, (p[0].y + p.at(-1).y) / 2]; };
const spread = () => { const p = [...fingers.values()]; return Math.hypot(p[0].x - p.at(-1).x, p[0].y - p.at(-1).y); };

function listen() {
  canvas.addEventListener("pointerdown", e => {
    fingers.set(e.pointerId, {x: e.clientX, y: e.clientY});
    try { canvas.setPointerCapture(e.pointerId); } catch { /* a script's event has no pointer to capture */ }
    canvas.focus();
  });
  canvas.addEventListener("pointermove", e => {
    if (!fingers.has(e.pointerId)) return;
    const [x, y] = middle(), wide = spread();
    fingers.set(e.pointerId, {x: e.clientX, y: e.clientY});
    const [to_x, to_y] = middle(), side = Math.min(canvas.clientWidth, canvas.clientHeight) || 1;
    const dx = (to_x - x) / side, dy = (to_y - y) / side;
    if (fingers.size > 1) {
      if (wide > 0 && spread() > 0) zoom(wide / spread());
      shift(dx, dy);
    } else if (e.shiftKey || e.buttons & 2) shift(dx, dy);
    else turn(-4 * dx, 4 * dy);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, e => fingers.delete(e.pointerId));
  canvas.addEventListener("contextmenu", e => e.preventDefault());
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    zoom(Math.exp((e.deltaMode == 1 ? 0.05 : 0.0015) * e.deltaY));
  }, {passive: false});
  canvas.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const acts = {
      ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0), ArrowUp: () => turn(0, 0.1), ArrowDown: () => turn(0, -0.1),
      "+": () => zoom(0.9), "=": () => zoom(0.9), "-": () => zoom(1 / 0.9), Home: () => { reset(); moved(); },
    };
    if (!(e.key in acts)) return;
    acts[e.key]();
    e.preventDefault();
  });
  addEventListener("resize", moved);
}

// ---- For scripts: window.klab.picture(width, height) draws the present view and returns its bytes, red, green, blue and 255,
// from the top row on ------------------------------------------------------------------------------------------------------------
function picture(width, height) {
  hold(width, height);
  const step = paint ? height : 16;
  for (let row = 0; row < height; row += step) draw_rows(width, height, row, Math.min(height, row + step)), wait();
  const upside_down = new Uint8Array(4 * width * height), rgba = new Uint8Array(upside_down.length);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, upside_down);
  for (let y = 0; y < height; ++y) rgba.set(upside_down.subarray(4 * width * y, 4 * width * (y + 1)), 4 * width * (height - 1 - y));
  ask();
  return rgba;
}

function fall_back(why) {
  canvas.hidden = true;
  still.hidden = false;
  document.getElementById("how").hidden = true;
  say(`${why}: this is a still picture.`);
}

reset();
gl = canvas.getContext("webgl2", {alpha: false, antialias: false, depth: false, preserveDrawingBuffer: true});
if (!gl) return fall_back("This browser has no WebGL2");
canvas.addEventListener("webglcontextlost", () => fall_back("The graphics processor gave up"));
try {
  build();
} catch (e) {
  return fall_back("The field cannot be drawn here: " + e.message);
}
canvas.hidden = false;
still.hidden = true;
document.getElementById("how").hidden = false;
listen();
moved();
window.klab = {picture, camera, reset};
})();
