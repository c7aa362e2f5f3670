// A confusion matrix in percent of each true class.
const DEEPEST = (value) => 0.06 + 0.94 * (value / 100); // how much of the colour a cell has

const parts = (colour) => (colour.startsWith("#") ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.split(",").map(Number));
function luminance(rgb) {
  const [r, g, b] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

// The first colour that can be read on a cell; black or white always can.
function legible(value) {
  const style = getComputedStyle(document.documentElement), named = (name) => style.getPropertyValue(name).trim();
  const heat = parts(named("--heat")), card = parts(named("--card")), deep = DEEPEST(value);
  const ground = card.map((part, index) => part + (heat[index] - part) * deep);
  return [named("--ink"), named("--card"), "#000000", "#ffffff"].find((colour) => contrast(parts(colour), ground) >= 4.5);
}

function drawHeat(panel, width) {
  const count = panel.names.length, longest = Math.max(...panel.names.map((name) => name.length));
  const left = clamp(6.2 * longest + 12, 40, 104), under = clamp(5 * longest + 30, 50, 92);
  const size = clamp(width, 220, 460), side = (size - left - 4) / count, height = Math.round(side * count + under);
  const cut = (name) => (name.length > 15 ? name.slice(0, 14) + "…" : name);
  const root = svg("svg", { viewBox: `0 0 ${size} ${height}`, width: size, height, role: "img", tabindex: "0", "aria-label": `${panel.title}, ${panel.under}: confusion matrix. Correct: ${panel.names.map((name, index) => `${name} ${format(panel.share[index][index])} %`).join(", ")}` });
  const texts = [];
  panel.share.forEach((row, i) => {
    root.append(svg("text", { x: left - 6, y: (i + 0.5) * side + 4, "text-anchor": "end", text: cut(panel.names[i]) }));
    row.forEach((value, j) => {
      const hit = svg("g", {}, [
        svg("rect", { x: left + j * side, y: i * side, width: side - 1, height: side - 1, class: "heat-base", fill: "transparent" }),
        svg("rect", { x: left + j * side, y: i * side, width: side - 1, height: side - 1, rx: 2, class: "heat-cell", "fill-opacity": DEEPEST(value) }),
      ]);
      if (side >= 15) {
        const text = svg("text", { x: left + (j + 0.5) * side - 0.5, y: (i + 0.5) * side + 4, class: "heat-text", text: value < 0.5 ? (value ? "<1" : "0") : String(Math.round(value)) });
        if (side < 26) text.style.fontSize = `${(0.3 * side + 3.2).toFixed(1)}px`;
        texts.push([text, value]);
        hit.append(text);
      }
      root.append(hit);
    });
  });
  panel.names.forEach((name, j) => {
    const x = left + (j + 0.5) * side, y = count * side + 12;
    root.append(svg("text", { transform: `translate(${x + 3} ${y}) rotate(-40)`, "text-anchor": "end", text: cut(name) }));
  });
  root.append(svg("text", { class: "axis-title", x: left + (count * side) / 2, y: height - 4, "text-anchor": "middle", text: "called (rows: true class)" }));
  readable(root, (event) => {
    const [x, y] = within(root, event), i = Math.floor(y / side), j = Math.floor((x - left) / side);
    if (i >= count || j < 0 || j >= count) return false;
    showAt(`${format(panel.share[i][j])} %`, [{ method: panel.method, name: `of class “${panel.names[i]}” called “${panel.names[j]}”`, text: "" }], event);
  });
  root.repaint = () => texts.forEach(([text, value]) => { text.style.fill = legible(value); });
  root.repaint();
  return root;
}
