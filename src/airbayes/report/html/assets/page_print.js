// On paper: light colours, figures drawn at its width, and nothing folded.
let unfolded = [];
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  showTheme("light");
  unfolded = [...document.querySelectorAll(":is(section, .run) > details:not([open])")];
  for (const each of unfolded) each.open = true;
  for (const view of views) view.draw();
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  showTheme(button.dataset.theme);
  for (const each of unfolded) each.open = false;
  for (const view of views) view.drawn = false; // the folded ones wait
  drawAll();
});
