// Elements and numbers. Text goes in as textContent only: nothing from the data is ever read as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children || []) if (child) node.append(child);
  return node;
}

const el = (tag, attributes, children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, children) => fill(document.createElementNS(SVG, tag), attributes, children);

const methodClass = (name) =>
  typeof name === "string" && /^[a-z_]+(:[a-z]+)?$/.test(name) ? "m-" + name.replace(":", "-") : "m-other";

const minus = (text) => text.replace(/-/g, "−");

function format(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) {
    const [front, power] = value.toExponential(2).split("e");
    return minus(`${Number(front)}e${Number(power)}`);
  }
  const rounded = Number(value.toPrecision(3));
  return minus(rounded.toLocaleString("en", { maximumSignificantDigits: 6 }));
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
