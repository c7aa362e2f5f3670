// Values under the pointer, or under the arrow keys.
const tip = document.getElementById("tip"), live = document.getElementById("live");

function placeTip(x, y) {
  tip.classList.add("on");
  shownAt = scrollY;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth ? x - width - 16 : x + 16;
  tip.style.transform = `translate(${clamp(left, 6, Math.max(6, innerWidth - width - 6))}px, ${clamp(y - height / 2, 6, Math.max(6, innerHeight - height - 6))}px)`;
}

const hideTip = () => tip.classList.remove("on");
let shownAt = 0;
addEventListener("scroll", () => { if (Math.abs(scrollY - shownAt) > 24) hideTip(); }, { passive: true });

function showRows(title, rows, x, y) {
  tip.replaceChildren(el("b", { text: title }));
  for (const row of rows)
    tip.append(el("div", { class: "row" }, [
      el("span", { class: `swatch ${methodClass(row.method)}` }),
      el("span", { text: row.name }),
      el("span", { class: "num", text: row.text }),
    ]));
  placeTip(x, y);
}

function valueText(series, index) {
  if (series.lost && series.lost[index] && series.y[index] === null) return series.lost[index];
  let text = format(series.y[index]);
  if (series.low && series.low[index] !== null) text += ` [${format(series.low[index])}, ${format(series.high[index])}]`;
  if (series.dotted && series.dotted[index] !== null) text += ` (dotted ${format(series.dotted[index])})`;
  if (series.hollow && series.hollow[index]) text += `, ${series.hollow[index]}`;
  if (series.lost && series.lost[index]) text += `, ${series.lost[index]}`;
  return text;
}

function watch(root, frame, panel, shown) {
  const { sx, sy, box } = frame;
  const stops = [...new Set(shown.flatMap((series) => series.x || []))].sort((a, b) => a - b);
  const names = new Map(panel.x.ticks || []);
  root.setAttribute("tabindex", "0");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", `${panel.title}: ${shown.length} curves. Arrow keys read the values.`);
  const cursor = svg("g", { visibility: "hidden" });
  root.append(cursor);
  let at = stops.length - 1;

  function show(index, spoken, place) {
    at = index;
    const x = stops[index];
    const rows = [];
    cursor.replaceChildren();
    if (x !== undefined) cursor.append(svg("line", { class: "cursor", x1: sx(x), x2: sx(x), y1: box.top, y2: box.bottom }));
    for (const series of shown) {
      const here = series.x ? series.x.indexOf(x) : 0;
      if (here < 0) continue;
      const y = series.y[here];
      if (y === null && !(series.lost && series.lost[here])) continue;
      rows.push({ method: series.method, name: series.name, y, text: valueText(series, here) });
      if (y !== null && series.x) cursor.append(svg("circle", { class: "halo", cx: sx(x), cy: clamp(sy(y), box.top, box.bottom), r: 6 }));
    }
    rows.sort((a, b) => (b.y === null ? -Infinity : b.y) - (a.y === null ? -Infinity : a.y));
    cursor.setAttribute("visibility", "visible");
    const unit = panel.x.label.includes("(dB)") ? " dB" : "";
    const where = x === undefined ? panel.title : unit ? `${format(x)}${unit}` : `${panel.x.label} ${names.get(x) || format(x)}`;
    const rect = root.getBoundingClientRect();
    showRows(where, rows, place ? place[0] : rect.left + (sx(x) / frame.root.viewBox.baseVal.width) * rect.width, place ? place[1] : rect.top + rect.height / 2);
    if (spoken) live.textContent = `${where}. ${rows.map((row) => `${row.name} ${row.text}`).join("; ")}`;
  }

  function off() {
    cursor.setAttribute("visibility", "hidden");
    hideTip();
  }

  root.addEventListener("pointermove", (event) => {
    const rect = root.getBoundingClientRect();
    const x = ((event.clientX - rect.left) / rect.width) * frame.root.viewBox.baseVal.width;
    let best = 0;
    stops.forEach((stop, index) => { if (Math.abs(sx(stop) - x) < Math.abs(sx(stops[best]) - x)) best = index; });
    show(best, false, [event.clientX, event.clientY]);
  });
  root.addEventListener("pointerleave", off);
  root.addEventListener("blur", off);
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -stops.length, End: stops.length }[event.key];
    if (event.key === "Escape") off();
    if (step === undefined) return;
    event.preventDefault();
    show(clamp(at + step, 0, Math.max(0, stops.length - 1)), true, null);
  });
}
