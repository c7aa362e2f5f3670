// Values under the pointer or the finger, or under the arrow keys.
const tip = document.getElementById("tip"), live = document.getElementById("live");

// Beside a pointer; above a finger, which would hide it.
function placeTip(x, y, finger) {
  tip.classList.add("on");
  shownAt = scrollY;
  const { width, height } = tip.getBoundingClientRect();
  const left = finger ? x - width / 2 : x + 16 + width > innerWidth ? x - width - 16 : x + 16;
  const top = !finger ? y - height / 2 : y - height - 28 < 6 ? y + 28 : y - height - 28;
  tip.style.transform = `translate(${clamp(left, 6, Math.max(6, innerWidth - width - 6))}px, ${clamp(top, 6, Math.max(6, innerHeight - height - 6))}px)`;
}

const hideTip = () => tip.classList.remove("on");
let shownAt = 0, read = null;
function stopReading() {
  if (read) read.off();
  read = null;
  hideTip();
}
addEventListener("scroll", () => { if (Math.abs(scrollY - shownAt) > 24) stopReading(); }, { passive: true });
document.addEventListener("pointerdown", (event) => { if (read && !read.root.contains(event.target)) stopReading(); });

// `at` shows what lies under an event, or returns false. A finger leaves its values standing until it taps elsewhere.
function readable(root, at, off = () => {}) {
  const look = (event) => {
    if (read && read.root !== root) stopReading();
    if (at(event) === false) stopReading();
    else read = { root, off };
  };
  root.classList.add("readable");
  root.addEventListener("pointerdown", look);
  root.addEventListener("pointermove", look);
  root.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") stopReading(); });
}

// Where an event lies in the units of a drawing.
function within(root, event) {
  const rect = root.getBoundingClientRect(), view = root.viewBox.baseVal;
  return [((event.clientX - rect.left) / rect.width) * view.width, ((event.clientY - rect.top) / rect.height) * view.height];
}

function showAt(title, rows, event) {
  showRows(title, rows, event.clientX, event.clientY, event.pointerType === "touch");
}

function showRows(title, rows, x, y, finger = false) {
  tip.replaceChildren(el("b", { text: title }));
  for (const row of rows)
    tip.append(el("div", { class: "row" }, [
      el("span", { class: `swatch ${methodClass(row.method)}` }),
      el("span", { text: row.name }),
      el("span", { class: "num", text: row.text }),
    ]));
  placeTip(x, y, finger);
}

function valueText(series, index) {
  if (series.lost && series.lost[index] && series.y[index] === null) return series.lost[index];
  let text = measured(series.y[index]);
  if (series.low && series.low[index] !== null) text += ` [${measured(series.low[index])}, ${measured(series.high[index])}]`;
  if (series.dotted && series.dotted[index] !== null) text += ` (dotted ${measured(series.dotted[index])})`;
  if (series.hollow && series.hollow[index]) text += `, ${series.hollow[index]}`;
  if (series.lost && series.lost[index]) text += `, ${series.lost[index]}`;
  return text;
}

function watch(root, frame, panel, shown) {
  const { sx, sy, box, shift } = frame;
  const stops = [...new Set(shown.flatMap((series) => series.x || []))].sort((a, b) => a - b);
  const names = new Map(panel.x.ticks || []);
  root.setAttribute("tabindex", "0");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", `${panel.title}: ${shown.length === 1 ? "one curve" : `${shown.length} curves`}. Arrow keys read the values.`);
  const cursor = svg("g", { visibility: "hidden" });
  root.append(cursor);
  let at = stops.length - 1;

  function show(index, spoken, event) {
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
      if (y !== null && series.x) cursor.append(svg("circle", { class: "halo", cx: sx(x) + (shift.get(series) || 0), cy: clamp(sy(y), box.top, box.bottom), r: 6 }));
    }
    if (!rows.length) return false;
    rows.sort((a, b) => (b.y === null ? -Infinity : b.y) - (a.y === null ? -Infinity : a.y));
    cursor.setAttribute("visibility", "visible");
    const unit = panel.x.label.includes("(dB)") ? " dB" : "";
    const where = x === undefined ? panel.title : unit ? `${format(x)}${unit}` : `${panel.x.label} ${names.get(x) || format(x)}`;
    const rect = root.getBoundingClientRect(), across = x === undefined ? 0.5 : sx(x) / root.viewBox.baseVal.width;
    if (event) showAt(where, rows, event);
    else showRows(where, rows, rect.left + across * rect.width, rect.top + rect.height / 2);
    if (spoken) live.textContent = `${where}. ${rows.map((row) => `${row.name} ${row.text}`).join("; ")}`;
  }

  const off = () => cursor.setAttribute("visibility", "hidden");

  readable(root, (event) => {
    const [x] = within(root, event);
    let best = 0;
    stops.forEach((stop, index) => { if (Math.abs(sx(stop) - x) < Math.abs(sx(stops[best]) - x)) best = index; });
    return show(best, false, event);
  }, off);
  root.addEventListener("blur", () => { if (read && read.root === root) stopReading(); }); // a finger may read another by now
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -stops.length, End: stops.length }[event.key];
    if (event.key === "Escape") stopReading();
    if (step === undefined) return;
    event.preventDefault();
    if (read && read.root !== root) stopReading();
    read = { root, off };
    show(clamp(at + step, 0, Math.max(0, stops.length - 1)), true, null);
  });
}
