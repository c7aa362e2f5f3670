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

// 2·10⁶, as in the tables.
function powerText(value, digits) {
  const [front, power] = value.toExponential(digits - 1).split("e");
  const raised = minus(String(Number(power))).replace(/./g, (sign) => ({ "−": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" })[sign]);
  return Number(front) === 1 ? `10${raised}` : `${minus(String(Number(front)))}·10${raised}`;
}

// Three digits. What was set is as short as it was: 10, 0.4. What was measured keeps its zeros: 0.540 [0.442, 0.588].
function threeDigits(value, atLeast) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return powerText(value, 3);
  const rounded = Number(value.toPrecision(3));
  return minus(rounded.toLocaleString("en", { minimumSignificantDigits: rounded === 0 ? 1 : atLeast, maximumSignificantDigits: 6 }));
}

const format = (value) => threeDigits(value, 1);
const measured = (value) => threeDigits(value, 3);

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
