// Curves with bands, single seeds, marks, levels, and crosses where a cell diverged.
const DASHES = [null, "7 4", "2 3.5", "9 3 2 3", "1 5"];
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

function band(series, sx, sy) {
  const there = series.x.map((x, index) => [x, series.low[index], series.high[index]]).filter((each) => each[1] !== null && each[2] !== null);
  if (!there.length) return "";
  const upper = there.map(([x, , high]) => `${sx(x).toFixed(1)} ${sy(high).toFixed(1)}`);
  const lower = there.map(([x, low]) => `${sx(x).toFixed(1)} ${sy(low).toFixed(1)}`).reverse();
  return `M${upper.join("L")}L${lower.join("L")}z`;
}

function drawSeries(series, frame, panel, fallen) {
  const { sx, box } = frame;
  const [low, high] = panel.y.range;
  const sy = (value) => clamp(frame.sy(panel.y.log && value <= 0 ? low : value), box.top - 2, box.bottom + 2);
  const group = svg("g", { class: series.method ? methodClass(series.method) : "exact" });
  const dash = DASHES[(series.kind || 0) % DASHES.length];
  const width = series.plain ? 1.8 : series.width || 1.8;
  if (series.free) {
    group.append(svg("path", { class: `curve${series.fill ? " exact fill" : ""}`, d: path(series.x, series.y, sx, sy) + "z", "stroke-width": width }));
    return group;
  }
  if (!series.x) {
    // The same at every SNR.
    if (series.y[0] !== null) {
      const y = sy(series.y[0]);
      if (series.low && series.low[0] !== null) {
        const top = sy(series.high[0]);
        group.append(svg("rect", { class: "band", x: box.left, y: top, width: box.right - box.left, height: Math.max(0, sy(series.low[0]) - top) }));
      }
      group.append(svg("line", { class: "curve", x1: box.left, x2: box.right, y1: y, y2: y, "stroke-width": 1.7, "stroke-dasharray": dash || "6 4" }));
      if (series.dotted && series.dotted[0] !== null) {
        const under = sy(series.dotted[0]);
        group.append(svg("line", { class: "curve", x1: box.left, x2: box.right, y1: under, y2: under, "stroke-width": 1.3, "stroke-dasharray": "1 4" }));
      }
    } else if (series.lost) group.append(cross(box.right - 8, box.top + 6 + 11 * fallen.flat++));
    return group;
  }
  if (series.low) group.append(svg("path", { class: "band", d: band(series, sx, sy) }));
  for (const [x, y] of series.dots || []) if (y !== null) group.append(svg("circle", { class: "dot", cx: sx(x), cy: sy(y), r: 2 }));
  const stroke = dash || (series.dash ? "6 4" : null);
  group.append(svg("path", { class: "curve", d: path(series.x, series.y, sx, sy), "stroke-width": width, "stroke-dasharray": stroke }));
  if (series.dotted) group.append(svg("path", { class: "curve", d: path(series.x, series.dotted, sx, sy), "stroke-width": series.plain ? 2.4 : 1.6, "stroke-dasharray": "1 4.5" }));
  if (!series.plain)
    series.x.forEach((x, index) => {
      const y = series.y[index];
      if (y === null) return;
      const hollow = series.hollow && series.hollow[index];
      group.append(svg("path", { class: hollow ? "mark hollow" : "mark", d: shape(SHAPES[series.method], sx(x), sy(y), 3.6) }));
    });
  (series.lost || []).forEach((text, index) => {
    if (!text) return;
    const row = (fallen[index] = (fallen[index] || 0) + 1);
    group.append(cross(sx(series.x[index]), box.top + 11 * row - 5));
  });
  if (series.fell !== undefined) {
    const row = (fallen.fell = (fallen.fell || 0) + 1);
    group.append(cross(clamp(sx(series.fell), box.left + 5, box.right - 5), box.top + 11 * row - 5));
  }
  return group;
}

function drawLines(panel, width, hidden) {
  const height = clamp(Math.round(width * 0.66), 190, 320);
  const frame = axes(width, height, panel.x, panel.y);
  const { root, sx, sy, box } = frame;
  const shown = panel.series.filter((series) => !series.keys.some((key) => hidden.has(key)));
  for (const { x, text } of panel.upright || []) {
    root.append(svg("line", { class: "upright", x1: sx(x), x2: sx(x), y1: box.top, y2: box.bottom }, [svg("title", { text })]));
  }
  for (const { y, text } of panel.level || []) {
    root.append(svg("line", { class: "level", x1: box.left, x2: box.right, y1: sy(y), y2: sy(y) }));
    root.append(svg("text", { x: box.right - 2, y: sy(y) - 4, "text-anchor": "end", class: "weight-right", text }));
  }
  const fallen = { flat: 0 };
  for (const series of shown) root.append(drawSeries(series, frame, panel, fallen));
  if (!panel.series.some((series) => series.free)) watch(root, frame, panel, shown);
  return root;
}
