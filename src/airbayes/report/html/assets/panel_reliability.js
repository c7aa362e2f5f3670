// Bars of how often it is right over how sure it is, the gap to the diagonal, and how many answers stand behind.
const FEW = 0.005; // of the answers: bars of fewer are faint
const RELIABILITY_KEY = "Dotted boxes: the gap between how sure it says it is and how often it is right. Faint bars: fewer than 0.5\u00a0% of the answers.";

function drawReliability(panel, width) {
  const size = clamp(width, 200, 420), strip = 46, height = Math.round(size * 0.86) + strip;
  const left = 52, right = 8, top = 6, base = height - strip - 34;
  const root = svg("svg", { viewBox: `0 0 ${size} ${height}`, width: size, height, role: "img", tabindex: "0", "aria-label": `${panel.title}, ${panel.under}: ${panel.facts}` });
  const sx = scale([0, 1], left, size - right, false), sy = scale([0, 1], base, top, false);
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    root.append(svg("line", { class: "grid", x1: sx(0), x2: sx(1), y1: sy(value), y2: sy(value) }));
    root.append(svg("text", { x: sx(0) - 6, y: sy(value) + 4, "text-anchor": "end", text: String(value) }));
    root.append(svg("text", { x: sx(value), y: height - 19, "text-anchor": "middle", text: String(value) }));
  }
  const group = svg("g", { class: methodClass(panel.method) });
  root.append(group);
  const most = Math.max(...panel.count.map((value) => value || 0), 1e-9), floor = height - 34;
  for (let index = 0; index < panel.bins; index++) {
    const from = sx(index / panel.bins) + 0.75, wide = sx((index + 1) / panel.bins) - from - 0.75;
    const share = panel.count[index], right = panel.right[index], sure = panel.sure[index];
    if (!share || right === null) continue;
    group.append(svg("rect", { class: share < FEW ? "bar-right few" : "bar-right", x: from, width: wide, y: sy(right), height: Math.max(0, base - sy(right)), }));
    const gap = svg("rect", { class: "bar-gap", x: from, width: wide, y: Math.min(sy(right), sy(sure)), height: Math.abs(sy(right) - sy(sure)) });
    group.append(gap);
    const tall = Math.max(1, (strip - 14) * (share / most));
    group.append(svg("rect", { class: "bar-count", x: from, width: wide, y: floor - tall, height: tall }));
  }
  readable(root, (event) => {
    const [x] = within(root, event);
    const index = Math.floor(((x - left) / (size - right - left)) * panel.bins);
    const share = panel.count[index], good = panel.right[index], sure = panel.sure[index];
    if (!share || good === null) return false;
    const gap = 100 * (sure - good);
    const words = [["how sure it says it is", `${format(100 * sure)} %`], ["how often it is right", `${format(100 * good)} %`], [gap > 0 ? "over-confident by" : "too modest by", `${format(Math.abs(gap))} points`]];
    showAt(`${format(100 * share)} % of the answers${share < FEW ? ": few" : ""}`, words.map(([name, text]) => ({ method: panel.method, name, text })), event);
  });
  root.append(svg("line", { class: "diagonal", x1: sx(0), y1: sy(0), x2: sx(1), y2: sy(1), "pointer-events": "none" }));
  root.append(svg("line", { class: "frame", x1: left, x2: size - right, y1: base, y2: base }));
  root.append(svg("line", { class: "frame", x1: left, x2: size - right, y1: floor, y2: floor }));
  root.append(svg("text", { class: "axis-title", x: (left + size) / 2, y: height - 4, "text-anchor": "middle", text: "how sure it says it is" }));
  root.append(svg("text", { class: "axis-title", x: 0, y: 0, transform: `translate(11 ${(base + top) / 2}) rotate(-90)`, "text-anchor": "middle", text: "how often it is right" }));
  return root;
}
