// Starts everything: figures when they come near, the theme, the place in the page.
const specs = JSON.parse(document.getElementById("figures").textContent);
const views = [];
for (const place of document.querySelectorAll("[data-figure]")) {
  const spec = specs[place.dataset.figure];
  if (spec) views.push(new FigureView(place, spec));
}
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    near.unobserve(entry.target);
    const view = views.find((each) => each.place === entry.target);
    if (!view.drawn) view.draw();
  }
}, { rootMargin: "700px" });
for (const view of views) near.observe(view.place);

let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => views.forEach((view) => view.resize()), 120);
});
addEventListener("beforeprint", () => views.forEach((view) => { if (!view.drawn) view.draw(); }));

const THEMES = ["auto", "light", "dark"];
const button = document.getElementById("theme");
function setTheme(name) {
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", name);
  button.textContent = `Theme: ${name}`;
  button.dataset.theme = name;
  try { localStorage.setItem("airbayes-theme", name); } catch { /* a file may not be allowed to remember */ }
  document.dispatchEvent(new Event("themechange"));
}
let remembered = null;
try { remembered = localStorage.getItem("airbayes-theme"); } catch { /* as above */ }
setTheme(THEMES.includes(remembered) ? remembered : "auto");
button.addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length]));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));

const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]));
const passing = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const link = links.get(entry.target.id);
    if (!link || !entry.isIntersecting) continue;
    links.forEach((each) => each.classList.remove("here"));
    link.classList.add("here");
  }
}, { rootMargin: "-20% 0px -70% 0px" });
links.forEach((_, id) => { const target = document.getElementById(id); if (target) passing.observe(target); });
