// Agents, links with their weights, and the gain of each agent as a ring.
function drawNetwork(panel, width) {
  const size = clamp(width, 220, 380), many = panel.at.length;
  const radius = many <= 8 ? 19 : many <= 20 ? 13 : many <= 60 ? 8 : 4.5, edge = radius + 12;
  const place = ([x, y]) => [size / 2 + (x * (size - 2 * edge)) / 2, size / 2 - (y * (size - 2 * edge)) / 2];
  const root = svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img", "aria-label": `${panel.title}: ${panel.facts}` });
  const few = panel.links.length <= 12, written = few && panel.links.length <= many;
  const heaviest = Math.max(...panel.links.map((link) => link[2]), 1e-9);
  for (const [i, j, weight] of panel.links) {
    const [x1, y1] = place(panel.at[i]), [x2, y2] = place(panel.at[j]);
    root.append(svg("line", { class: "link", x1, y1, x2, y2, "stroke-width": (few ? 3.4 : 1.4) * Math.max(0.25, weight / heaviest) }));
  }
  // Where links cross, the one weight stands above the drawing only.
  if (written)
    for (const [i, j, weight] of panel.links) {
      const [x1, y1] = place(panel.at[i]), [x2, y2] = place(panel.at[j]);
      if (Math.hypot(x2 - x1, y2 - y1) < 2 * radius + 30) continue; // no room
      const x = (x1 + x2) / 2, y = (y1 + y2) / 2, text = format(weight), wide = 6.5 * text.length + 8;
      root.append(svg("rect", { class: "weight-back", x: x - wide / 2, y: y - 8, width: wide, height: 16, rx: 4 }));
      root.append(svg("text", { class: "weight", x, y: y + 4, text }));
    }
  // Gains stand under all circles, or under none where one would cover another or lie under a circle.
  const at = panel.at.map(place), close = (x, y, wide, high) => Math.abs(x) < wide && Math.abs(y) < high;
  const roomy = at.every(([x, y], i) => at.every(([u, v], j) => i === j || !(close(u - x, v - y, 38, 12) || close(u - x, v - y - radius - 8, radius + 18, radius + 4))));
  panel.at.forEach((point, agent) => {
    const [x, y] = at[agent];
    const group = svg("g", { class: methodClass(panel.method) });
    const gain = panel.gain ? panel.gain[agent] : null;
    group.append(svg("circle", { class: "node", cx: x, cy: y, r: radius }));
    if (gain !== null) {
      const ring = radius - 1.5, around = 2 * Math.PI * ring, stroke = Math.max(2.5, radius / 4.5);
      group.append(svg("circle", { class: "gain-rest", cx: x, cy: y, r: ring, "stroke-width": stroke }));
      group.append(svg("circle", { class: "gain", cx: x, cy: y, r: ring, "stroke-width": stroke, "stroke-dasharray": `${around * clamp(gain, 0, 1)} ${around}`, transform: `rotate(-90 ${x} ${y})` }));
    }
    if (radius >= 13) group.append(svg("text", { class: "node-name", x, y: y + 4, text: String(agent) }));
    if (radius >= 13 && roomy && gain !== null) group.append(svg("rect", { class: "weight-back", x: x - 20, y: y + radius + 2, width: 40, height: 12, rx: 3 }), svg("text", { class: "weight", x, y: y + radius + 11, text: `ρ ${gain.toFixed(2)}` }));
    root.append(group);
  });
  const away = ([x1, y1], [x2, y2], [x, y]) => {
    const along = clamp(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2 || 1), 0, 1);
    return Math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1));
  };
  const nearest = (distances) => distances.reduce((best, value, index) => (value < distances[best] ? index : best), 0);
  readable(root, (event) => {
    const point = within(root, event), method = panel.method;
    const toAgent = panel.at.map((at) => Math.hypot(place(at)[0] - point[0], place(at)[1] - point[1])), agent = nearest(toAgent);
    if (toAgent[agent] <= radius + 5) {
      const rows = [{ method, name: "own weight", text: format(panel.own[agent]) }];
      if (panel.gain && panel.gain[agent] !== null) rows.push({ method, name: "mean gain ρ", text: measured(panel.gain[agent]) });
      return showAt(`agent ${agent}`, rows, event);
    }
    const toLink = panel.links.map(([i, j]) => away(place(panel.at[i]), place(panel.at[j]), point)), link = nearest(toLink);
    if (!(toLink[link] <= 8)) return false;
    const [i, j, weight] = panel.links[link];
    return showAt(`agents ${i} and ${j}`, [{ method, name: "weight w", text: format(weight) }], event);
  });
  return root;
}
