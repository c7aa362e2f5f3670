// A figure: its controls, its legend, and the panels of the chosen frame.
const DRAW = { lines: drawLines, reliability: drawReliability, heat: drawHeat, network: drawNetwork, cloud: drawCloud };
const SWATCH = 22, LONG_SWATCH = 36; // the second for dashes that tell runs apart

// A piece of the curve: its colour, its dashes, and a point if it has points.
function legendMark(entry, curve) {
  const wide = entry.method ? SWATCH : LONG_SWATCH;
  const mark = svg("svg", { width: wide, height: 12, viewBox: `0 0 ${wide} 12`, "aria-hidden": "true", class: entry.method ? methodClass(entry.method) : "exact" });
  const drawn = look(entry.method ? { ...curve, kind: curve.kind === undefined ? undefined : 0, width: 2.2 } : { x: [], kind: entry.dash, width: 2.2 });
  mark.append(svg("line", { ...stroke(drawn), x1: 1, x2: wide - 1, y1: 6, y2: 6 }));
  if (entry.method && drawn.marks) mark.append(svg("path", { class: "mark", d: shape(SHAPES[entry.method], wide / 2, 6, 3.4) }));
  return mark;
}

// Every number drawn, with the words of its axis: those of the ticks where the axis has such.
function numbersTable(panels, label) {
  const drawn = panels.filter((panel) => panel.type === "lines"), rows = [];
  const same = drawn.every((panel) => panel.x.label === drawn[0].x.label);
  for (const panel of drawn) {
    const names = new Map(panel.x.ticks || []);
    const where = (series, index) => {
      if (!series.x) return "any";
      const text = names.get(series.x[index]) || format(series.x[index]);
      return same ? text : `${panel.x.label}: ${text}`;
    };
    for (const series of panel.series)
      if (!series.free) series.y.forEach((_, index) => { if (series.x || index === 0) rows.push([panel.title, series.name, where(series, index), valueText(series, index)]); });
  }
  const head = ["panel", "curve", same && drawn.length ? drawn[0].x.label : "at", "value"];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers of ${label}` }, [el("table", {}, [
    el("thead", {}, [el("tr", {}, head.map((text) => el("th", { scope: "col", text })))]),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text) => el("td", { text }))))),
  ])]);
}

class FigureView {
  constructor(place, spec) {
    this.place = place;
    this.spec = spec;
    this.hidden = new Set();
    this.chosen = spec.controls.map((control) => control.start);
    this.width = 0;
    this.id = place.dataset.figure;
    endAtFall(spec.frames);
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", spec.label);
    if (spec.controls.length) place.append(this.controls());
    if (spec.legend.length) place.append(this.legend());
    this.panels = el("div", { class: `panels c${spec.columns}` });
    place.append(this.panels);
    const first = Object.values(spec.frames)[0] || [];
    if (first.some((panel) => panel.type === "reliability")) place.append(el("p", { class: "note", text: RELIABILITY_KEY }));
    if (first.some((panel) => panel.type === "lines" && !panel.series.some((series) => series.free))) {
      this.numbers = el("details", { class: "numbers" }, [el("summary", { text: "The numbers" })]);
      this.numbers.addEventListener("toggle", () => this.fillNumbers());
      place.append(this.numbers);
    }
  }

  controls() {
    const rows = this.spec.controls.map((control, index) => {
      if (control.options.length < 2) return null;
      const name = `${this.id}-control-${index}`;
      const label = el("label", { for: name }, [el("span", { text: control.name })]);
      const choose = (value) => { this.chosen[index] = value; this.draw(); };
      if (control.slider) {
        const output = el("output", { for: name, text: control.options[control.start] });
        const input = el("input", { type: "range", id: name, min: 0, max: control.options.length - 1, step: 1, value: control.start, "aria-valuetext": control.options[control.start] });
        input.addEventListener("input", () => {
          const text = control.options[Number(input.value)];
          output.textContent = text;
          input.setAttribute("aria-valuetext", text);
          choose(Number(input.value));
        });
        label.append(input, output);
      } else {
        const select = el("select", { id: name }, control.options.map((text, value) => el("option", { value, text })));
        select.selectedIndex = control.start;
        const chosen = el("span", { class: "chosen", text: control.options[control.start] }); // for paper
        select.addEventListener("change", () => {
          chosen.textContent = control.options[select.selectedIndex];
          choose(select.selectedIndex);
        });
        label.append(select, chosen);
      }
      return label;
    });
    return el("div", { class: "controls" }, rows);
  }

  legend() {
    const every = Object.values(this.spec.frames).flat().flatMap((panel) => panel.series || []);
    this.buttons = new Map();
    const shown = this.spec.legend.map((entry) => {
      const curve = every.find((series) => series.keys.includes(entry.key)) || { x: [] };
      const button = el("button", { type: "button", "aria-pressed": "true" }, [legendMark(entry, curve), el("span", { text: entry.name })]);
      this.buttons.set(entry.key, button);
      button.addEventListener("click", () => {
        const hide = !this.hidden.has(entry.key);
        if (hide) this.hidden.add(entry.key); else this.hidden.delete(entry.key);
        button.setAttribute("aria-pressed", String(!hide));
        this.draw();
      });
      return button;
    });
    if (every.some((series) => !series.x && series.kind !== undefined)) shown.push(el("span", { class: "key", text: "Thin lines without points: ideal links." }));
    return el("div", { class: "legend", role: "group", "aria-label": "Curves, click to hide or show" }, shown);
  }

  // Names without a curve at this choice would puzzle.
  fitLegend(panels) {
    if (!this.buttons) return;
    const keys = new Set(panels.flatMap((panel) => panel.series || []).flatMap((series) => series.keys));
    for (const [key, button] of this.buttons) button.hidden = keys.size > 0 && !keys.has(key);
  }

  frame() {
    return this.spec.frames[this.chosen.join("|")] || [];
  }

  draw() {
    hideTip();
    const panels = this.frame();
    this.drawn = true;
    const slots = panels.map((panel) => {
      const slot = el("div", { class: "panel" });
      const heading = el("p", { class: "title" }, [panel.type === "reliability" || panel.type === "heat" ? el("span", { class: `swatch ${methodClass(panel.method)}`, "aria-hidden": "true" }) : null, el("span", { text: panel.title })]);
      slot.append(heading);
      slot.append(el("p", { class: "under", text: [panel.under, panel.facts].filter(Boolean).join(" · ") }));
      slot.append(el("div", { class: "drawing" }));
      return slot;
    });
    this.fitLegend(panels);
    this.panels.replaceChildren(...slots);
    if (!slots.length) this.panels.append(el("p", { class: "note", text: "Nothing was run with this choice." }));
    const widths = slots.map((slot) => Math.floor(slot.clientWidth) || 320);
    panels.forEach((panel, index) => {
      const slot = slots[index].lastChild;
      if (panel.lost) slot.append(el("p", { class: "lost", text: panel.lost }));
      if (panel.lost && panel.type !== "network") return;
      slot.append(DRAW[panel.type](panel, widths[index], this.hidden));
    });
    this.width = this.place.clientWidth;
    this.fillNumbers();
  }

  fillNumbers() {
    if (!this.numbers || !this.numbers.open) return;
    while (this.numbers.children.length > 1) this.numbers.lastChild.remove();
    this.numbers.append(numbersTable(this.frame(), this.id));
  }

  // Colours that no style rule reaches.
  repaint() {
    for (const each of this.panels.querySelectorAll(".drawing > *")) if (each.repaint) each.repaint();
  }

  resize() {
    if (this.drawn && Math.abs(this.place.clientWidth - this.width) > 2) this.draw();
  }
}
