// What ipywidgets does not do: a slider's handle carries no name, a missing tooltip becomes the word "null", an image has
// no alternative text. A control is named by its own label, else its tooltip, its placeholder, or the heading before it.
const bare = (text) => (text || "").replace(/\u200b/g, "").trim().replace(/^(null|None|undefined)$/, "");
const named = (element) => bare(element.getAttribute("aria-label"));
const heading = (widget) => {
  for (let at = widget; at && !at.classList.contains("wb-panel"); at = at.parentElement)
    for (let left = at.previousElementSibling; left; left = left.previousElementSibling)
      if (left.matches(".widget-html") && !left.querySelector("style") && bare(left.textContent))
        return bare(left.textContent).split("\n")[0].slice(0, 80);
  return "";
};
function name(panel) {
  for (const element of panel.querySelectorAll("[title]"))
    if (!bare(element.title)) element.removeAttribute("title");
  for (const control of panel.querySelectorAll(".noUi-handle, select, textarea, input:not([type=hidden])")) {
    const widget = control.closest(".jupyter-widgets");
    if (!widget) continue;
    const label = widget.querySelector(":scope > .widget-label, :scope > label");
    const said = bare(label?.textContent);
    if (control.matches("select, input, textarea") && said && label.htmlFor === control.id && control.id) continue;
    const words = said || bare(label?.title) || bare(widget.title) || bare(control.title) || bare(control.placeholder)
      || named(control) || heading(widget);
    if (words && named(control) !== words) control.setAttribute("aria-label", words);
  }
  for (const image of panel.querySelectorAll("img.widget-image:not([alt])")) {
    const words = bare(image.closest(".widget-vbox")?.querySelector(".widget-html-content")?.textContent);
    if (words) image.alt = words;
  }
}
export default { render({ el }) {
  el.style.display = "none";
  let watcher, waiting = 0;
  const begin = () => {
    const panel = el.closest(".wb-panel");
    if (!panel) { waiting = requestAnimationFrame(begin); return; }
    const again = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => name(panel)); };
    watcher = new MutationObserver(again);
    watcher.observe(panel, { childList: true, subtree: true, characterData: true, attributeFilter: ["title", "src"] });
    again();
  };
  begin();
  return () => { cancelAnimationFrame(waiting); watcher?.disconnect(); };
} };
