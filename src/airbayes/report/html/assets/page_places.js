// Links to sections, and the bar that says which one is read.
const bar = document.querySelector(".top"), menu = document.querySelector("nav");
const links = new Map([...menu.querySelectorAll("a")].map((link) => [link.getAttribute("href").slice(1), link]));
const targets = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);

// Figures give the page its height: a place is known once it is unfolded, and all above it are drawn.
function ready(hash) {
  const target = document.getElementById(decodeURIComponent(hash.slice(1))), folded = target && target.closest(".folded");
  if (folded) folded.open = true;
  if (target) drawAll();
  return target;
}
function go() {
  const target = ready(location.hash);
  if (target) target.scrollIntoView();
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link) ready(link.getAttribute("href"));
});
addEventListener("hashchange", go);
if (location.hash) {
  go();
  addEventListener("load", go); // the browser has its own idea of the place until then
}

// The rest is drawn while nobody waits for it.
const later = window.requestIdleCallback || ((each) => setTimeout(() => each({ timeRemaining: () => 10 }), 50));
function drawOn(deadline) {
  do {
    const view = unfoldedViews().find((each) => !each.drawn);
    if (!view) return;
    view.draw();
  } while (deadline.timeRemaining() > 8);
  later(drawOn);
}
addEventListener("load", () => later(drawOn));

function fade() {
  menu.classList.toggle("before", menu.scrollLeft > 2);
  menu.classList.toggle("after", menu.scrollLeft + menu.clientWidth < menu.scrollWidth - 2);
}
let marked = null;
function mark() {
  const line = bar.offsetHeight + 0.25 * innerHeight, end = scrollY + innerHeight >= document.documentElement.scrollHeight - 4;
  const above = targets.filter((target) => target.getBoundingClientRect().top <= line);
  const here = scrollY < 8 || !above.length ? null : links.get((end ? targets : above).at(-1).id);
  if (here === marked) return;
  for (const link of links.values()) {
    link.classList.toggle("here", link === here);
    if (link === here) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  }
  marked = here;
  menu.scrollLeft = here ? here.offsetLeft - menu.offsetLeft - (menu.clientWidth - here.offsetWidth) / 2 : 0;
}
let asked = false;
addEventListener("scroll", () => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; mark(); });
}, { passive: true });
menu.addEventListener("scroll", fade, { passive: true });
menu.addEventListener("wheel", (event) => {
  const before = menu.scrollLeft;
  menu.scrollLeft += event.deltaX || event.deltaY;
  if (menu.scrollLeft !== before) event.preventDefault();
}, { passive: false });
new ResizeObserver(() => {
  document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 12}px`;
  fade();
}).observe(bar);
mark();
