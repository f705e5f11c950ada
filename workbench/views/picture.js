// What lies over a picture: what a place stands for (on hover), a click, a drag over points, and a line to move.
// Hit tests run here; the kernel is asked only for what follows from a click. Coordinates are shares of the picture.

function make(tag, cls) {
  const node = document.createElement(tag);
  node.className = cls;
  return node;
}

function inside(points, x, y) {
  let found = false;
  for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
    const [xi, yi] = points[i], [xj, yj] = points[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) found = !found;
  }
  return found;
}

function render({ model, el }) {
  const root = make("div", "wb-over");
  const tip = make("div", "wb-tip");
  const ring = make("div", "wb-ring");
  const line = make("div", "wb-line");
  const brush = make("div", "wb-brush");
  root.dataset.lmSuppressShortcuts = "true";
  tip.setAttribute("role", "status");
  root.append(ring, line, brush, tip);
  el.append(root);
  let regions = [], chosen = -1, drag = null;

  const frame = () => el.closest(".wb-frame");
  const send = (message) => model.send(message);
  const at = (event) => {
    const box = root.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height, box];
  };
  const middle = ({ at: p, box, area }) => {
    if (p) return p;
    if (box) return [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2];
    return area.reduce(([x, y], [a, b]) => [x + a / area.length, y + b / area.length], [0, 0]);
  };
  // The nearest point within 9 pixels, else the smallest box or area that holds the place.
  const hit = (x, y, box) => {
    let best = -1, least = 81;
    regions.forEach((one, own) => {
      if (!one.at) return;
      const away = ((one.at[0] - x) * box.width) ** 2 + ((one.at[1] - y) * box.height) ** 2;
      if (away <= least) [best, least] = [own, away];
    });
    if (best >= 0) return best;
    least = Infinity;
    regions.forEach((one, own) => {
      const b = one.box;
      const size = b ? (b[2] - b[0]) * (b[3] - b[1]) : 1;
      const holds = b ? x >= b[0] && x <= b[2] && y >= b[1] && y <= b[3] : one.area && inside(one.area, x, y);
      if (holds && size <= least) [best, least] = [own, size];
    });
    return best;
  };
  const show = (own) => {
    chosen = own;
    const one = regions[own];
    tip.hidden = ring.hidden = !one;
    root.style.cursor = one && one.key !== "" ? "pointer" : model.get("brush") ? "crosshair" : "default";
    if (!one) return;
    tip.textContent = one.label;
    const [x, y] = middle(one);
    const width = root.clientWidth, height = root.clientHeight;
    const left = Math.min(Math.max(x * width - tip.offsetWidth / 2, 2), width - tip.offsetWidth - 2);
    const top = one.box ? one.box[1] * height : y * height;
    tip.style.left = `${left}px`;
    tip.style.top = top > tip.offsetHeight + 10 ? `${top - tip.offsetHeight - 8}px` : `${top + 14}px`;
    const b = one.box || [x, y, x, y];
    const out = one.box ? 1 : 7;
    Object.assign(ring.style, {
      left: `${b[0] * width - out}px`, top: `${b[1] * height - out}px`, width: `${(b[2] - b[0]) * width + 2 * out}px`,
      height: `${(b[3] - b[1]) * height + 2 * out}px`, borderRadius: one.box ? "2px" : "50%",
    });
    ring.hidden = Boolean(one.area);
  };
  const value = (x) => {
    const own = model.get("line");
    const share = Math.min(Math.max((x - own.from) / (own.to - own.from), 0), 1);
    return Math.round((own.low + share * (own.high - own.low)) / own.step) * own.step;
  };
  const place = (number) => {
    const own = model.get("line");
    return own.from + ((number - own.low) / (own.high - own.low)) * (own.to - own.from);
  };
  const draw = () => {
    regions = model.get("regions");
    const own = model.get("line"), alt = model.get("alt");
    line.hidden = own.value === undefined;
    if (!line.hidden) {
      line.style.left = `${100 * place(own.value)}%`;
      line.style.top = `${100 * own.top}%`;
      line.style.height = `${100 * (own.bottom - own.top)}%`;
      line.title = own.words;
    }
    root.tabIndex = regions.some((one) => one.key !== "") ? 0 : -1;
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", alt);
    frame()?.querySelector("img")?.setAttribute("alt", alt);
    show(-1);
  };

  root.onpointermove = (event) => {
    const [x, y, box] = at(event);
    if (drag?.line) {
      line.style.left = `${100 * place(value(x))}%`;
      tip.hidden = false;
      tip.textContent = value(x).toFixed(2);
      tip.style.left = `${Math.min(x * box.width + 6, box.width - 40)}px`;
      tip.style.top = "4px";
    } else if (drag?.from) {
      const [a, b] = drag.from;
      brush.hidden = Math.hypot((x - a) * box.width, (y - b) * box.height) < 6;
      Object.assign(brush.style, {
        left: `${100 * Math.min(a, x)}%`, top: `${100 * Math.min(b, y)}%`,
        width: `${100 * Math.abs(a - x)}%`, height: `${100 * Math.abs(b - y)}%`,
      });
    } else show(hit(x, y, box));
  };
  root.onpointerdown = (event) => {
    const [x, y, box] = at(event);
    const near = !line.hidden && Math.abs(x - place(model.get("line").value)) * box.width < 9;
    drag = near || event.target === line ? { line: true } : model.get("brush") ? { from: [x, y] } : null;
    if (drag) root.setPointerCapture(event.pointerId);
  };
  root.onpointerup = (event) => {
    const [x, y, box] = at(event);
    const held = drag;
    drag = null;
    if (held?.line) send({ do: "line", value: value(x) });
    else if (held?.from && !brush.hidden) {
      const [a, b] = held.from;
      const keys = regions.filter((one) => one.at && one.key !== "" && (one.at[0] - a) * (one.at[0] - x) <= 0
        && (one.at[1] - b) * (one.at[1] - y) <= 0).map((one) => one.key);
      if (keys.length) send({ do: "brush", keys });
    } else {
      const own = regions[hit(x, y, box)];
      if (own && own.key !== "") send({ do: "click", key: own.key });
    }
    brush.hidden = true;
  };
  root.onpointerleave = () => drag || show(-1);
  root.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && regions.length) {
      event.preventDefault();
      show((chosen + step + regions.length) % regions.length);
    } else if (event.key === "Enter" && regions[chosen] && regions[chosen].key !== "")
      send({ do: "click", key: regions[chosen].key });
  };
  root.onblur = () => show(-1);

  // The kernel draws at the width that there is, at the resolution of the screen, in the ink of the theme.
  const dark = () => document.body.dataset.jpThemeLight === "false";
  let waiting = 0;
  const tell = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const width = Math.round(frame()?.clientWidth || 0);
      const seen = { width, ratio: Math.min(window.devicePixelRatio || 1, 3), dark: dark() };
      if (width && JSON.stringify(seen) !== JSON.stringify(model.get("seen"))) {
        model.set("seen", seen);
        model.save_changes();
      }
    }, 60);
  };
  const sizes = new ResizeObserver(tell);
  const themes = new MutationObserver(tell);
  sizes.observe(root);
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  const names = ["regions", "line", "alt", "brush"].map((name) => `change:${name}`);
  names.forEach((name) => model.on(name, draw));
  brush.hidden = true;
  draw();
  return () => {
    sizes.disconnect();
    themes.disconnect();
    names.forEach((name) => model.off(name, draw));
  };
}

export default { render };
