// One page of rows. The rows live in the kernel: only the visible page comes here, so that 100,000 rows turn as fast as 10.
// Everything is set with textContent: no text of a user is ever read as markup.

function make(tag, cls, text) {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  return node;
}

function render({ model, el }) {
  const root = make("div", "wb-rows");
  const grid = make("div", "wb-rows-grid");
  // JupyterLab takes J, K and the arrows from whatever has the focus, but not below this attribute.
  root.dataset.lmSuppressShortcuts = "true";
  grid.tabIndex = 0;
  grid.setAttribute("role", "grid");
  const note = make("div", "wb-rows-note");
  const table = make("table");
  const head = make("thead");
  const body = make("tbody");
  table.setAttribute("role", "presentation");
  table.append(head, body);
  grid.append(table);
  const bar = make("div", "wb-rows-bar");
  const step = (sign, name) => {
    const button = make("button", "wb-rows-page", sign);
    button.type = "button";
    button.onclick = () => send({ do: "page", to: name });
    return button;
  };
  const pages = ["first", "back", "on", "last"].map((name, at) => step(["«", "‹", "›", "»"][at], name));
  const place = make("span", "wb-rows-place");
  const keys = make("span", "wb-rows-keys wb-clip");
  bar.append(pages[0], pages[1], place, pages[2], pages[3], keys);
  root.append(note, grid, bar);
  el.append(root);

  const id = `wb-rows-${Math.random().toString(36).slice(2)}`;
  const send = (message) => model.send(message);
  let lines = [];

  const mark = (at) => {
    lines.forEach((line, own) => {
      const here = own === at;
      line.classList.toggle("wb-current", here);
      line.setAttribute("aria-selected", String(here));
      if (here) {
        const box = line.getBoundingClientRect();
        const view = grid.getBoundingClientRect();
        const top = view.top + head.offsetHeight;
        if (box.top < top) grid.scrollTop -= top - box.top;
        else if (box.bottom > view.bottom) grid.scrollTop += box.bottom - view.bottom;
      }
    });
    if (lines[at]) grid.setAttribute("aria-activedescendant", lines[at].id);
    else grid.removeAttribute("aria-activedescendant");
  };

  const draw = () => {
    const view = model.get("view");
    if (!view.columns) return;
    grid.setAttribute("aria-label", view.label);
    grid.setAttribute("aria-rowcount", view.total + 1);
    note.textContent = view.note;
    note.hidden = !view.note;
    const titles = make("tr");
    titles.setAttribute("role", "row");
    view.columns.forEach(({ key, title, kind }) => {
      const cell = make("th", `wb-col-${kind}`);
      cell.setAttribute("role", "columnheader");
      const sorted = view.sort && view.sort[0] === key;
      cell.setAttribute("aria-sort", sorted ? (view.sort[1] ? "descending" : "ascending") : "none");
      const button = make("button", "wb-clip", title + (sorted ? (view.sort[1] ? " ▾" : " ▴") : ""));
      button.type = "button";
      button.title = view.words.sort;
      button.onclick = () => send({ do: "sort", key });
      cell.append(button);
      titles.append(cell);
    });
    head.replaceChildren(titles);
    lines = view.rows.map((row, at) => {
      const line = make("tr");
      line.id = `${id}-${at}`;
      line.setAttribute("role", "row");
      line.setAttribute("aria-rowindex", view.first + at + 2);
      row.forEach(([text, cls], column) => {
        const cell = make("td", `wb-col-${view.columns[column].kind} ${cls}`);
        cell.append(make("span", "wb-clip", text));
        cell.setAttribute("role", "gridcell");
        cell.title = text;
        line.append(cell);
      });
      line.onclick = () => {
        mark(at);
        send({ do: "go", at: view.first + at });
      };
      return line;
    });
    if (!lines.length) {
      const line = make("tr", "wb-rows-empty");
      const cell = make("td", "", view.words.empty);
      cell.colSpan = view.columns.length;
      line.append(cell);
      body.replaceChildren(line);
    } else body.replaceChildren(...lines);
    place.textContent = view.words.place;
    keys.textContent = keys.title = view.words.keys;
    pages.forEach((button, at) => {
      button.disabled = at < 2 ? view.first <= 0 : view.first + view.rows.length >= view.total;
      button.title = button.ariaLabel = view.words.pages[at];
    });
    mark(view.current);
  };

  const moves = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, Home: "first", End: "last", PageDown: "on", PageUp: "back" };
  grid.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moves[event.key];
    if (move === undefined && !model.get("answers").includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (typeof move === "number") send({ do: "step", by: move });
    else if (move) send({ do: "page", to: move, go: true });
    else if (event.key === "n") el.closest(".wb-panel")?.querySelector(".wb-own-note input")?.focus();
    else send({ do: "key", key: event.key });
  };
  model.on("change:view", draw);
  draw();
}

export default { render };
