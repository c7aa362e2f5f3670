// A figure: its controls, its legend, and the panels of the chosen frame.
const DRAW = { lines: drawLines, reliability: drawReliability, heat: drawHeat, network: drawNetwork, cloud: drawCloud };
const SWATCH = 22;

function legendMark(entry) {
  const mark = svg("svg", { width: SWATCH, height: 12, viewBox: `0 0 ${SWATCH} 12`, "aria-hidden": "true", class: entry.method ? methodClass(entry.method) : "exact" });
  const dash = DASHES[entry.dash % DASHES.length];
  mark.append(svg("line", { class: "curve", x1: 1, x2: SWATCH - 1, y1: 6, y2: 6, "stroke-width": 2.4, "stroke-dasharray": dash }));
  if (entry.method) mark.append(svg("path", { class: "mark", d: shape(SHAPES[entry.method], SWATCH / 2, 6, 3.4) }));
  return mark;
}

function numbersTable(panels, label) {
  const rows = [];
  for (const panel of panels)
    if (panel.type === "lines")
      for (const series of panel.series)
        if (!series.free) series.y.forEach((y, index) => rows.push([panel.title, series.name, series.x ? format(series.x[index]) : "any", series.x || index === 0 ? valueText(series, index) : ""]));
  const head = ["panel", "curve", panels[0] ? panels[0].x.label : "x", "value"];
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
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", spec.label);
    if (spec.controls.length) place.append(this.controls());
    if (spec.legend.length) place.append(this.legend());
    this.panels = el("div", { class: `panels c${spec.columns}` });
    place.append(this.panels);
    const first = Object.values(spec.frames)[0] || [];
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
        select.addEventListener("change", () => choose(select.selectedIndex));
        label.append(select);
      }
      return label;
    });
    return el("div", { class: "controls" }, rows);
  }

  legend() {
    return el("div", { class: "legend", role: "group", "aria-label": "Curves, click to hide or show" }, this.spec.legend.map((entry) => {
      const button = el("button", { type: "button", "aria-pressed": "true" }, [legendMark(entry), el("span", { text: entry.name })]);
      button.addEventListener("click", () => {
        const hide = !this.hidden.has(entry.key);
        if (hide) this.hidden.add(entry.key); else this.hidden.delete(entry.key);
        button.setAttribute("aria-pressed", String(!hide));
        this.draw();
      });
      return button;
    }));
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
      const under = [panel.under, panel.facts].filter(Boolean).join(" · ");
      if (under) slot.append(el("p", { class: "under", text: under }));
      return slot;
    });
    this.panels.replaceChildren(...slots);
    if (!slots.length) this.panels.append(el("p", { class: "note", text: "Nothing was run with this choice." }));
    const widths = slots.map((slot) => Math.floor(slot.clientWidth) || 320);
    panels.forEach((panel, index) => {
      const slot = slots[index];
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

  resize() {
    if (this.drawn && Math.abs(this.place.clientWidth - this.width) > 2) this.draw();
  }
}
