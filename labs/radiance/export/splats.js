// Draws Gaussians: sorted by depth, projected and colored in a vertex shader (splats.glsl), blended from the back to the front.
"use strict";
function gaussian_painter(gl, field, tools) {
const {bytes_of, text_of, linked, texture_of, width_for} = tools;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec3 conic;
flat in vec4 paint;
in vec2 away;
out vec4 color;
void main() {
  float e = -0.5 * (conic.x * away.x * away.x + conic.z * away.y * away.y) - conic.y * away.x * away.y;
  float alpha = min(0.99, paint.w * exp(e));
  if (alpha < 1.0 / 255.0) discard;
  color = vec4(alpha * paint.xyz, alpha);
}`;
// Sums are floats, so that hundreds of faint Gaussians are not rounded one by one; this makes bytes of them.
const ROUND = `#version 300 es
precision highp float;
uniform highp sampler2D sums;
out vec4 color;
void main() { color = vec4(texelFetch(sums, ivec2(gl_FragCoord.xy), 0).xyz, 1.0); }`;
const WHOLE = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }`;

const count = field.gaussians, defines = {...field.defines};
const bytes = bytes_of("places"), places = new Float32Array(bytes.buffer);
const textures = field.textures.map(({name, numbers, channels}) => {
  const data = name == "places" ? bytes : bytes_of(name), width = width_for(data.length / (channels * (numbers == "float" ? 4 : 2)));
  defines[name.toUpperCase() + "_WIDTH"] = width;
  return [name, texture_of(numbers, channels, data, width)];
});
const lines = Object.entries(defines).map(([name, value]) => `#define ${name} ${value}\n`).join("");
const paint = linked("#version 300 es\n" + lines + text_of("harmonics") + text_of("shader"), FRAGMENT), round = linked(WHOLE, ROUND);
const place = name => gl.getUniformLocation(paint, name);
gl.useProgram(paint);
textures.forEach(([name, made], unit) => {
  gl.activeTexture(gl.TEXTURE0 + unit);
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.uniform1i(place(name), unit);
});
gl.useProgram(round);
gl.uniform1i(gl.getUniformLocation(round, "sums"), 6);

const instances = gl.createVertexArray(), nothing = gl.createVertexArray(), buffer = gl.createBuffer();
gl.bindVertexArray(instances);
gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
gl.bufferData(gl.ARRAY_BUFFER, 4 * count, gl.DYNAMIC_DRAW);
gl.enableVertexAttribArray(0);
gl.vertexAttribIPointer(0, 1, gl.UNSIGNED_INT, 0, 0);
gl.vertexAttribDivisor(0, 1);

// ---- Order: the bits of floats above 0 rise with them, so two passes over 16 bits each sort the depths ------------------------
const depths = new Float32Array(count), bits = new Uint32Array(depths.buffer), begin = new Uint32Array(65536);
let order = new Uint32Array(count), half_sorted = new Uint32Array(count), visible = 0, sorted_for = "";

// Sorts by 16 bits of the depth, the largest first.
function pass(from, to, n, shift) {
  begin.fill(0);
  for (let k = 0; k < n; ++k) ++begin[bits[from[k]] >>> shift & 65535];
  for (let b = 65535, at = 0; b >= 0; --b) { const c = begin[b]; begin[b] = at; at += c; }
  for (let k = 0; k < n; ++k) to[begin[bits[from[k]] >>> shift & 65535]++] = from[k];
}

function sort({eye, back}) {
  const now = [...eye, ...back].join();
  if (now == sorted_for) return;
  sorted_for = now;
  const nearest = +field.defines.NEAREST;
  visible = 0;
  for (let i = 0; i < count; ++i) {
    depths[i] = back[0] * (eye[0] - places[3 * i]) + back[1] * (eye[1] - places[3 * i + 1]) + back[2] * (eye[2] - places[3 * i + 2]);
    if (depths[i] > nearest) order[visible++] = i;
  }
  pass(order, half_sorted, visible, 0);
  pass(half_sorted, order, visible, 16);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferSubData(gl.ARRAY_BUFFER, 0, order, 0, visible);
}

// ---- Sums of colors: of 32 bits where the browser can blend them, of 16 or 8 elsewhere --------------------------------------------
const has_floats = gl.getExtension("EXT_color_buffer_float"), blends_floats = gl.getExtension("EXT_float_blend");
const sized = has_floats && blends_floats ? gl.RGBA32F : has_floats || gl.getExtension("EXT_color_buffer_half_float") ? gl.RGBA16F : gl.RGBA8;
let sums = null, held = {width: 0, height: 0};
function hold(width, height) {
  if (sums && held.width == width && held.height == height) return;
  if (sums) gl.deleteFramebuffer(sums), gl.deleteTexture(held.texture);
  const made = gl.createTexture();
  gl.activeTexture(gl.TEXTURE6);
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.texStorage2D(gl.TEXTURE_2D, 1, sized, width, height);
  for (const each of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, each, gl.NEAREST);
  sums = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, sums);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, made, 0);
  held = {width, height, texture: made};
}

// Draws a whole picture of that size into a framebuffer.
return (frame, width, height, camera, focal) => {
  sort(camera);
  hold(width, height);
  gl.bindFramebuffer(gl.FRAMEBUFFER, sums);
  gl.viewport(0, 0, width, height);
  const level = +field.defines.BACKGROUND;
  gl.clearColor(level, level, level, 1);
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.useProgram(paint);
  for (const name of ["eye", "right", "above", "back"]) gl.uniform3fv(place(name), camera[name]);
  gl.uniform2f(place("size"), width, height);
  gl.uniform1f(place("focal"), focal);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.bindVertexArray(instances);
  gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, visible);
  gl.bindVertexArray(nothing);
  gl.disable(gl.BLEND);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.useProgram(round);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
};
}
