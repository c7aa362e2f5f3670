// A confusion matrix in percent of each true class.
function drawHeat(panel, width) {
  const count = panel.names.length, longest = Math.max(...panel.names.map((name) => name.length));
  const left = clamp(6.2 * longest + 12, 40, 104), under = clamp(5 * longest + 30, 50, 92);
  const size = clamp(width, 220, 460), side = (size - left - 4) / count, height = Math.round(side * count + under);
  const cut = (name) => (name.length > 15 ? name.slice(0, 14) + "…" : name);
  const root = svg("svg", { viewBox: `0 0 ${size} ${height}`, width: size, height, role: "img", tabindex: "0", "aria-label": `${panel.title}, ${panel.under}: confusion matrix. Correct: ${panel.names.map((name, index) => `${name} ${format(panel.share[index][index])} %`).join(", ")}` });
  panel.share.forEach((row, i) => {
    root.append(svg("text", { x: left - 6, y: (i + 0.5) * side + 4, "text-anchor": "end", text: cut(panel.names[i]) }));
    row.forEach((value, j) => {
      const hit = svg("g", {}, [
        svg("rect", { x: left + j * side, y: i * side, width: side - 1, height: side - 1, class: "heat-base", fill: "transparent" }),
        svg("rect", { x: left + j * side, y: i * side, width: side - 1, height: side - 1, rx: 2, class: "heat-cell", "fill-opacity": 0.06 + 0.94 * (value / 100) }),
      ]);
      if (side >= 26) hit.append(svg("text", { x: left + (j + 0.5) * side - 0.5, y: (i + 0.5) * side + 4, class: value > 55 ? "heat-text strong" : "heat-text", text: value < 0.5 ? (value ? "<1" : "0") : String(Math.round(value)) }));
      hit.addEventListener("pointermove", (event) => showRows(`${format(value)} %`, [{ method: panel.method, name: `of class “${panel.names[i]}” called “${panel.names[j]}”`, text: "" }], event.clientX, event.clientY));
      hit.addEventListener("pointerleave", hideTip);
      root.append(hit);
    });
  });
  panel.names.forEach((name, j) => {
    const x = left + (j + 0.5) * side, y = count * side + 12;
    root.append(svg("text", { transform: `translate(${x + 3} ${y}) rotate(-40)`, "text-anchor": "end", text: cut(name) }));
  });
  root.append(svg("text", { class: "axis-title", x: left + (count * side) / 2, y: height - 4, "text-anchor": "middle", text: "called (rows: true class)" }));
  return root;
}
