// From numbers to pixels, and where to put ticks.
function scale(range, from, to, log) {
  const [low, high] = log ? range.map(Math.log10) : range;
  const span = high - low || 1;
  return (value) => from + (((log ? Math.log10(value) : value) - low) / span) * (to - from);
}

function ticks(range, count, log) {
  const [low, high] = range;
  if (log) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const steps = last - first <= 2 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil((last - first) / 6));
    const found = [];
    for (let power = first; power <= last; power += every)
      for (const step of steps) {
        const value = step * 10 ** power;
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    if (found.length > 2 || high >= 10 * low) return found;
    const even = ticks(range, Math.min(count, 4), false); // less than a decade: even steps, which lie uneven
    return even.length > 1 ? even : ticks(range, 6, false); // two numbers at least make a scale
  }
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index++) found.push(Number((index * step).toPrecision(12)));
  return found;
}

function tickText(value, powers) {
  return powers ? powerText(value, 2) : minus(value.toLocaleString("en", { maximumSignificantDigits: 4 }));
}

// The row of each name under an axis: one below where it would run into its neighbour.
function nameRows(marks, sx) {
  const ends = [];
  return marks.map(([value, text]) => {
    const half = 3.1 * text.length + 3, left = sx(value) - half;
    let row = ends.findIndex((end) => end <= left);
    if (row < 0) row = ends.length;
    ends[row] = sx(value) + half;
    return row;
  });
}

// A frame with grid and axes; returns its svg, the scales and the box inside.
function axes(width, height, x, y) {
  const left = 48, right = 10, top = 10, sx = scale(x.range, left, width - right, false);
  const marks = x.ticks || ticks(x.range, clamp(Math.floor(width / 62), 2, 9), false).map((value) => [value, tickText(value)]);
  const rows = x.ticks ? nameRows(marks, sx) : [], bottom = 38 + 12 * Math.max(0, ...rows);
  const box = { left, top, right: width - right, bottom: height - bottom };
  const sy = scale(y.range, box.bottom, box.top, y.log);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  for (const [index, [value, text]] of marks.entries()) {
    root.append(svg("line", { class: "grid", x1: sx(value), x2: sx(value), y1: box.top, y2: box.bottom }));
    root.append(svg("text", { x: sx(value), y: box.bottom + 15 + 12 * (rows[index] || 0), "text-anchor": "middle", text }));
  }
  const levels = ticks(y.range, clamp(Math.floor(height / 42), 2, 6), y.log);
  const powers = y.log && levels.some((value) => value >= 1e4 || value < 1e-3); // all of an axis, or none
  for (const value of levels) {
    root.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: sy(value), y2: sy(value) }));
    root.append(svg("text", { x: box.left - 6, y: sy(value) + 4, "text-anchor": "end", text: tickText(value, powers) }));
  }
  root.append(svg("line", { class: "frame", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  root.append(svg("text", { class: "axis-title", x: (box.left + box.right) / 2, y: height - 5, "text-anchor": "middle", text: x.label }));
  return { root, sx, sy, box };
}
