// A cloud of points that can be turned with the pointer or the arrow keys.
function drawCloud(panel, width) {
  const points = [];
  for (let index = 0; index + 2 < panel.points.length; index += 3) points.push([panel.points[index] / 100, panel.points[index + 1] / 100, panel.points[index + 2] / 100]);
  const reach = Math.max(...points.map((p) => Math.hypot(p[0], p[1], p[2])), 1e-6);
  const lows = Math.min(...points.map((p) => p[2])), highs = Math.max(...points.map((p) => p[2]));
  const measure = reach < 0.01 ? "" : `outer ring: ${Number((2 * reach).toPrecision(2))} m across`;
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `${panel.title}. ${[panel.under, measure].filter(Boolean).join(", ")}. Arrow keys turn it.` });
  let yaw = 0.7, pitch = 0.42, held = null;

  function draw() {
    const size = canvas.clientWidth || width, ratio = Math.min(2, window.devicePixelRatio || 1);
    const tall = canvas.clientHeight || 0.8 * size;
    canvas.width = Math.round(size * ratio);
    canvas.height = Math.round(tall * ratio);
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const heat = style.getPropertyValue("--heat"), ink = style.getPropertyValue("--line");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, size, tall);
    const zoom = (0.46 * tall) / reach, middle = size / 2;
    const cy = Math.cos(yaw), sy = Math.sin(yaw), cp = Math.cos(pitch), sp = Math.sin(pitch);
    const project = ([x, y, z]) => {
      const along = cy * x - sy * y, deep = sy * x + cy * y;
      return [middle + zoom * along, tall / 2 - zoom * (cp * z + sp * deep), cp * deep - sp * z];
    };
    // The ground, to see what is up.
    pen.strokeStyle = ink;
    pen.lineWidth = 1;
    for (const turn of [1, 0.5]) {
      pen.beginPath();
      for (let index = 0; index <= 48; index++) {
        const angle = (index / 24) * Math.PI;
        const [x, y] = project([turn * reach * Math.cos(angle), turn * reach * Math.sin(angle), lows]);
        if (index) pen.lineTo(x, y); else pen.moveTo(x, y);
      }
      pen.stroke();
    }
    // How large it is: it fills the frame, whatever its size.
    pen.fillStyle = style.getPropertyValue("--faint");
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    pen.fillText(measure, 10, tall - 10);
    const seen = points.map((point) => [...project(point), point[2]]).sort((a, b) => b[2] - a[2]);
    for (const [x, y, deep, z] of seen) {
      const near = clamp(0.5 - deep / (2 * reach), 0, 1), high = (z - lows) / (highs - lows || 1);
      pen.fillStyle = `rgba(${heat}, ${0.35 + 0.65 * near})`;
      pen.beginPath();
      pen.arc(x, y, (size / 190) * (1.2 + 1.3 * near + 0.5 * high), 0, 2 * Math.PI);
      pen.fill();
    }
  }

  function turn(across, up) {
    yaw += across;
    pitch = clamp(pitch + up, -1.4, 1.5);
    draw();
  }

  canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    turn((event.clientX - held[0]) / 90, (event.clientY - held[1]) / 90);
    held = [event.clientX, event.clientY];
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { held = null; });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.12], ArrowDown: [0, -0.12] }[event.key];
    if (!move) return;
    event.preventDefault();
    turn(...move);
  });
  draw();
  const probabilities = el("ul", { class: `probs ${methodClass(panel.method)}` }, panel.probabilities.map(([name, share, truth]) => {
    const inner = el("span");
    inner.style.width = `${100 * share}%`;
    return el("li", {}, [
      el("span", { class: truth ? "name truth" : "name", text: truth ? `✓ ${name}` : name, title: truth ? `${name}, the true class` : name }),
      el("span", { class: "track" }, [inner]),
      el("span", { class: "value", text: share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %` }),
    ]);
  }));
  const both = el("div", {}, [canvas, probabilities]);
  both.repaint = draw;
  return both;
}
