// Starts everything: figures, those in sight first, and the theme.
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

// What is folded has no width, and is drawn once it is unfolded.
const unfoldedViews = () => views.filter((view) => !view.place.closest("details:not([open])"));

function drawAll() {
  for (const view of unfoldedViews()) if (!view.drawn) view.draw();
}
for (const folded of document.querySelectorAll(".folded"))
  folded.addEventListener("toggle", () => {
    for (const view of unfoldedViews()) if (folded.contains(view.place)) view.drawn ? view.resize() : near.observe(view.place);
  });

let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => unfoldedViews().forEach((view) => view.resize()), 120);
});

const THEMES = ["auto", "light", "dark"];
const button = document.getElementById("theme");
button.hidden = false; // without scripts it would do nothing
function showTheme(name) {
  if (name === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", name);
  views.forEach((view) => view.repaint());
}
function setTheme(name) {
  button.textContent = `Theme: ${name}`;
  button.dataset.theme = name;
  try { localStorage.setItem("airbayes-theme", name); } catch { /* a file may not be allowed to remember */ }
  showTheme(name);
}
let remembered = null;
try { remembered = localStorage.getItem("airbayes-theme"); } catch { /* as above */ }
setTheme(THEMES.includes(remembered) ? remembered : "auto");
button.addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(button.dataset.theme) + 1) % THEMES.length]));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => views.forEach((view) => view.repaint()));
