// Curves with bands, single seeds, marks, levels, and crosses where a cell diverged.
const DASHES = [null, [5, 2.4], [1.2, 1.8], [6, 2, 1.2, 2], [2.6, 1.6]]; // in widths of the line: one for each run of a comparison
const IDEAL = [3.6, 2.4]; // of a method without radio; beside other runs, where dashes name the run, a thin line without marks
const SHAPES = { "cd_dsgld:truncated": "square", "cd_dsgld:common": "diamond", q_dsgd: "triangle" };

function shape(kind, x, y, size) {
  if (kind === "square") return `M${x - size} ${y - size}h${2 * size}v${2 * size}h${-2 * size}z`;
  if (kind === "diamond") return `M${x} ${y - 1.35 * size}L${x + 1.35 * size} ${y}L${x} ${y + 1.35 * size}L${x - 1.35 * size} ${y}z`;
  if (kind === "triangle") return `M${x} ${y - 1.3 * size}L${x + 1.25 * size} ${y + size}L${x - 1.25 * size} ${y + size}z`;
  return `M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`;
}

const cross = (x, y) => svg("path", { class: "fallen", d: `M${x - 4} ${y - 4}l8 8M${x + 4} ${y - 4}l-8 8` });

// A path through the points that are there; a gap where one is not.
function path(xs, ys, sx, sy) {
  let text = "", pen = "M";
  xs.forEach((x, index) => {
    if (ys[index] === null || ys[index] === undefined) { pen = "M"; return; }
    text += `${pen}${sx(x).toFixed(1)} ${sy(ys[index]).toFixed(1)}`;
    pen = "L";
  });
  return text;
}

// How a curve is drawn: its width and dashes, and whether points stand on it.
function look(series) {
  const compared = series.kind !== undefined, ideal = !series.x || series.dash;
  const width = !series.x ? (compared ? 1.2 : 1.7) : series.plain ? 1.8 : series.width || 1.8;
  const dash = compared ? DASHES[series.kind % DASHES.length] : ideal ? IDEAL : null;
  return { width, dash: dash && dash.map((part) => (part * Math.max(width, 1.6)).toFixed(1)).join(" "), marks: Boolean(series.x) && !series.plain };
}

const stroke = ({ width, dash }) => ({ class: dash ? "curve dashed" : "curve", "stroke-width": width, "stroke-dasharray": dash });

// Neighbouring points that are there: two and more carry a band, one alone an error bar.
function stretches(series) {
  const found = [[]];
  series.x.forEach((x, index) => {
    const low = series.low[index], high = series.high[index];
    if (low === null || high === null) found.push([]);
    else found[found.length - 1].push([x, low, high]);
  });
  return found.filter((each) => each.length);
}

function band(there, sx, sy) {
  const upper = there.map(([x, , high]) => `${sx(x).toFixed(1)} ${sy(high).toFixed(1)}`);
  const lower = there.map(([x, low]) => `${sx(x).toFixed(1)} ${sy(low).toFixed(1)}`).reverse();
  return `M${upper.join("L")}L${lower.join("L")}z`;
}

const errorBar = (x, low, high) => svg("path", { class: "whisker", d: `M${x - 4} ${high}h8M${x} ${high}V${low}M${x - 4} ${low}h8` });

function drawSeries(series, frame, panel, fallen) {
  const { box } = frame, aside = frame.shift.get(series) || 0;
  const low = panel.y.range[0];
  const sx = (value) => frame.sx(value) + aside;
  const sy = (value) => clamp(frame.sy(panel.y.log && value <= 0 ? low : value), box.top - 2, box.bottom + 2);
  const coloured = () => svg("g", { class: series.method ? methodClass(series.method) : "exact" });
  const group = coloured(), spread = coloured(), drawn = look(series);
  const lost = coloured();
  frame.spreads.append(spread);
  frame.fallen.append(lost);
  if (series.free) {
    group.append(svg("path", { class: `curve${series.fill ? " exact fill" : ""}`, d: path(series.x, series.y, sx, sy) + "z", "stroke-width": drawn.width }));
    return group;
  }
  if (!series.x) {
    // The same at every SNR.
    if (series.y[0] !== null) {
      const y = sy(series.y[0]);
      if (series.low && series.low[0] !== null) {
        const top = sy(series.high[0]);
        spread.append(svg("rect", { class: "band", x: box.left, y: top, width: box.right - box.left, height: Math.max(0, sy(series.low[0]) - top) }));
      }
      group.append(svg("line", { ...stroke(drawn), x1: box.left, x2: box.right, y1: y, y2: y }));
      if (series.dotted && series.dotted[0] !== null) {
        const under = sy(series.dotted[0]);
        group.append(svg("line", { class: "curve", x1: box.left, x2: box.right, y1: under, y2: under, "stroke-width": 1.3, "stroke-dasharray": "1 4" }));
      }
    } else if (series.lost) lost.append(fallen(box.right - 8));
    return group;
  }
  if (series.low)
    for (const there of stretches(series))
      if (there.length > 1) spread.append(svg("path", { class: "band", d: band(there, sx, sy) }));
      else spread.append(errorBar(sx(there[0][0]), sy(there[0][1]), sy(there[0][2])));
  for (const [x, y] of series.dots || []) if (y !== null) spread.append(svg("circle", { class: "dot", cx: sx(x), cy: sy(y), r: 2 }));
  group.append(svg("path", { ...stroke(drawn), d: path(series.x, series.y, sx, sy) }));
  if (series.kind && series.x.length === 1 && series.y[0] !== null)
    group.append(svg("line", { ...stroke(drawn), x1: sx(series.x[0]) - 18, x2: sx(series.x[0]) + 18, y1: sy(series.y[0]), y2: sy(series.y[0]) })); // which run it is
  if (series.dotted && series.x.length === 1 && series.dotted[0] !== null) {
    const x = sx(series.x[0]), y = sy(series.dotted[0]); // a single point has no curve
    group.append(svg("line", { class: "curve", x1: x - 14, x2: x + 14, y1: y, y2: y, "stroke-width": 1.6, "stroke-dasharray": "1 4.5" }));
  } else if (series.dotted) group.append(svg("path", { class: "curve", d: path(series.x, series.dotted, sx, sy), "stroke-width": series.plain ? 2.4 : 1.6, "stroke-dasharray": "1 4.5" }));
  if (!series.plain)
    series.x.forEach((x, index) => {
      const y = series.y[index];
      if (y === null) return;
      const hollow = series.hollow && series.hollow[index];
      group.append(svg("path", { class: hollow ? "mark hollow" : "mark", d: shape(SHAPES[series.method], sx(x), sy(y), 3.6) }));
    });
  (series.lost || []).forEach((text, index) => {
    if (text) lost.append(fallen(sx(series.x[index])));
  });
  if (series.fell !== undefined) {
    const last = series.y.findLastIndex((value) => value !== null);
    lost.append(last < 0 ? fallen(clamp(sx(series.fell), box.left + 5, box.right - 5)) : cross(sx(series.x[last]), sy(series.y[last])));
  }
  return group;
}

// Points along a curve, close to each other; none on a logarithmic axis where it has no place.
function along(series, values, { sx, sy, box }, log) {
  const there = (value) => value !== null && value !== undefined && (value > 0 || !log);
  const xs = series.x ? series.x.map(sx) : [box.left, box.right], ys = series.x ? values : [values[0], values[0]];
  const found = [];
  for (let index = 1; index < xs.length; index++) {
    if (!there(ys[index - 1]) || !there(ys[index])) continue;
    const [x, y, right, end] = [xs[index - 1], sy(ys[index - 1]), xs[index], sy(ys[index])];
    for (let part = 0; part <= 1; part += 0.04) found.push([x + part * (right - x), y + part * (end - y)]);
  }
  return found;
}

// The name of a level: at the end and on the side of its line where fewest curves pass.
function levelName(text, y, frame, panel, shown) {
  const { box } = frame, wide = 6.2 * text.length + 6;
  const passed = shown.flatMap((series) => [series.y, series.dotted].filter(Boolean).flatMap((values) => along(series, values, frame, panel.y.log)));
  const places = [-4, 12].flatMap((down) => [box.right - 2 - wide, box.left + 2].map((left) => ({ left, base: y + down })));
  for (const place of places) {
    const inside = place.base >= box.top && place.base < box.bottom - 2;
    const hit = passed.filter(([x, at]) => x > place.left - 5 && x < place.left + wide + 5 && at > place.base - 15 && at < place.base + 6);
    place.covered = inside ? hit.length : Infinity;
  }
  const { left, base } = places.reduce((best, each) => (each.covered < best.covered ? each : best));
  const end = left > box.left + 2;
  return svg("text", { class: "level-name", x: end ? left + wide : left, y: base, "text-anchor": end ? "end" : "start", text });
}

// Curves end where a chain diverged: what is stored after it is no model. Their axes follow, in decades where they must.
function endAtFall(frames) {
  const panels = Object.values(frames).flat().filter((panel) => panel.type === "lines"), cut = new Set();
  for (const panel of panels)
    for (const series of panel.series) {
      if (series.fell === undefined) continue;
      cut.add(panel.y.label);
      for (const name of ["y", "dotted", "low", "high"])
        if (series[name]) series[name] = series[name].map((value, index) => (series.x[index] > series.fell ? null : value));
    }
  for (const label of cut) {
    const row = panels.filter((panel) => panel.y.label === label);
    const values = row.flatMap((panel) => panel.series.flatMap((series) => [...series.y, ...(series.dotted || [])])).filter((value) => value !== null);
    if (!values.length) continue;
    const most = values.reduce((a, b) => Math.max(a, b));
    const levels = row.flatMap((panel) => panel.level || []).map((level) => level.y).filter((value) => value <= most);
    const least = [...values, ...levels].reduce((a, b) => Math.min(a, b));
    for (const panel of row) {
      panel.y = { ...panel.y, log: panel.y.log || (least > 0 && most > 100 * least) };
      const pad = panel.y.log ? Math.max(1.05, (most / least) ** 0.06) : 0.06 * (most - least || Math.abs(most) || 1);
      panel.y.range = panel.y.log ? [least / pad, most * pad] : [panel.y.range[0] === 0 ? 0 : least - pad, most + pad];
      if (panel.level) panel.level = panel.level.filter((level) => level.y <= panel.y.range[1]);
    }
  }
}

function drawLines(panel, width, hidden) {
  const height = clamp(Math.round(width * 0.66), 190, 320);
  const shown = panel.series.filter((series) => !series.keys.some((key) => hidden.has(key)));
  const drawn = panel.series.filter((series) => series.x && !series.free), stops = new Set(drawn.flatMap((series) => series.x));
  const alone = stops.size === 1 && !panel.x.ticks;
  // A single SNR has one tick, and its points stand beside each other; without any there is nothing to read off the axis.
  const across = panel.x.ticks || stops.size > 1 || panel.series.some((series) => series.free) ? panel.x : { ...panel.x, ticks: [...stops].map((value) => [value, tickText(value)]) };
  const frame = axes(width, height, across, panel.y);
  const { root, sx, sy, box } = frame;
  frame.shift = new Map();
  const step = Math.min(30, (box.right - box.left) / (drawn.length + 1));
  if (alone) drawn.forEach((series, index) => frame.shift.set(series, (index - (drawn.length - 1) / 2) * step));
  for (const { x, text } of panel.upright || []) {
    root.append(svg("line", { class: "upright", x1: sx(x), x2: sx(x), y1: box.top, y2: box.bottom }, [svg("title", { text })]));
  }
  for (const { y, text } of panel.level || []) {
    root.append(svg("line", { class: "level", x1: box.left, x2: box.right, y1: sy(y), y2: sy(y) }));
  }
  // Crosses stand at the top, under each other where they would cover one another.
  const crosses = [];
  const fallen = (x) => {
    const row = crosses.filter((other) => Math.abs(other - x) < 9).length;
    crosses.push(x);
    return cross(x, box.top + 6 + 11 * row);
  };
  frame.fallen = svg("g"); // above all curves
  frame.spreads = svg("g"); // under all curves, which keep the colours of the legend
  root.append(frame.spreads);
  for (const series of shown) root.append(drawSeries(series, frame, panel, fallen));
  root.append(frame.fallen);
  for (const { y, text } of panel.level || []) root.append(levelName(text, sy(y), frame, panel, shown));
  if (!panel.series.some((series) => series.free)) watch(root, frame, panel, shown);
  return root;
}
