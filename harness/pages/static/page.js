// What every page does: unpack its data, follow the reader's colours, draw charts that have a name, make tables sortable.
"use strict";
const page = {
  // name -> parsed JSON
  async json(name) { return JSON.parse(new TextDecoder().decode(await page.bytes(name))); },
  // name -> ArrayBuffer
  async bytes(name) {
    const element = document.getElementById(`data-${name}`);
    const packed = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    element.textContent = "";
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  },
  // The chart library, unpacked once, when the first chart is drawn.
  charts() {
    page.loading ??= page.bytes("echarts").then((code) => {
      const script = document.createElement("script");
      script.textContent = new TextDecoder().decode(code);
      document.head.append(script);
      return window.echarts;
    });
    return page.loading;
  },
  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); },
  drawn: new Map(),
  // Draws the option that `make()` gives into `element`; again when colours change. `label` is what a screen reader says.
  async chart(element, label, make, ready) {
    const echarts = await page.charts();
    const draw = () => {
      page.drawn.get(element)?.chart.dispose();
      const chart = echarts.init(element, null, { renderer: "canvas" });
      chart.setOption(page.dressed(make()));
      element.setAttribute("role", "img");
      element.setAttribute("aria-label", label);
      page.drawn.set(element, { chart, draw });
      ready?.(chart);
    };
    draw();
    return element;
  },
  // Colours of texts, axes and tooltips, as the style sheet has them.
  dressed(option) {
    const ink = page.colour("ink"), soft = page.colour("soft"), line = page.colour("line"), card = page.colour("card");
    const axis = (one) => ({
      axisLine: { lineStyle: { color: line } }, nameTextStyle: { color: soft }, ...one,
      axisLabel: { color: soft, ...one.axisLabel }, splitLine: { lineStyle: { color: line }, ...one.splitLine },
    });
    const each = (value) => (value === undefined ? value : Array.isArray(value) ? value.map(axis) : axis(value));
    return {
      animation: false, backgroundColor: "transparent", textStyle: { color: ink, fontFamily: "inherit" }, ...option,
      xAxis: each(option.xAxis), yAxis: each(option.yAxis),
      legend: option.legend && { textStyle: { color: ink }, inactiveColor: soft, type: "scroll", ...option.legend },
      tooltip: { backgroundColor: card, borderColor: line, textStyle: { color: ink }, confine: true, ...option.tooltip },
    };
  },
  // An element with attributes and children; strings become text, so nothing needs escaping.
  make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  },
  verdict(name) { return page.make("span", { class: `verdict ${name}` }, name); },
  say(text) { document.getElementById("status").textContent = text; },
  number(value, digits = 0) {
    if (value === null || value === undefined) return "–";
    return Number(value).toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: 0 });
  },
  percent(share) { return share === null || share === undefined ? "–" : `${page.number(share * 100, share > 0 && share < 0.01 ? 2 : 1)} %`; },
  ms(value) {
    if (value === null || value === undefined) return "–";
    return value >= 10000 ? `${page.number(value / 1000, 1)} s` : value >= 10 ? `${page.number(value)} ms` : `${page.number(value, 3)} ms`;
  },
  seconds(ns) { return `${(ns / 1e9).toFixed(3)} s`; },
  // A table: columns are {title, text(row) or node, value(row), numeric}. Sortable by keyboard; long ones come in parts.
  table(caption, columns, rows, { part = 100, sort = null } = {}) {
    const body = page.make("tbody");
    const head = columns.map((column, index) => page.make("th", { scope: "col", class: column.numeric ? "n" : undefined },
      page.make("button", { type: "button", onclick: () => by(index) }, column.title)));
    const more = page.make("button", { type: "button", class: "plain", onclick: () => { shown += part; fill(); } });
    let shown = part, order = { index: sort?.index ?? -1, down: sort?.down ?? false }, sorted = rows;
    function by(index) {
      order = { index, down: order.index === index ? !order.down : Boolean(columns[index].numeric) };
      page.say(`Sorted by ${columns[index].title}, ${order.down ? "descending" : "ascending"}`);
      fill();
    }
    function fill() {
      const { index, down } = order;
      if (index >= 0) {
        const value = columns[index].value ?? columns[index].text;
        sorted = [...rows].sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1));
      }
      head.forEach((th, i) => i === index ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
      body.replaceChildren(...sorted.slice(0, shown).map((row) => page.make("tr", {},
        columns.map((column) => page.make("td", { class: column.numeric ? "n" : undefined }, (column.node ?? column.text)(row))))));
      more.textContent = `Show more (${page.number(Math.max(0, rows.length - shown))} are not shown)`;
      more.hidden = shown >= rows.length;
    }
    fill();
    return page.make("div", {}, page.make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      page.make("table", {}, page.make("caption", {}, caption), page.make("thead", {}, page.make("tr", {}, head)), body)), more);
  },
};
function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}
// Auto follows the system; a choice is kept where the browser lets a file keep anything.
(function colours() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const keep = (choice) => { try { localStorage.setItem("mqchaos-theme", choice); } catch { /* a file may not */ } };
  const kept = () => { try { return localStorage.getItem("mqchaos-theme"); } catch { return null; } };
  const apply = (choice) => {
    document.documentElement.dataset.theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    for (const { draw } of [...page.drawn.values()]) draw();
  };
  const box = document.querySelector(".theme"), start = kept() ?? "auto";
  box.hidden = false;
  for (const input of box.querySelectorAll("input")) {
    input.checked = input.value === start;
    input.addEventListener("change", () => { keep(input.value); apply(input.value); });
  }
  system.addEventListener("change", () => apply(box.querySelector(":checked").value));
  apply(start);
  addEventListener("resize", () => { for (const [element, { chart }] of page.drawn) if (element.isConnected) chart.resize(); });
  addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; for (const { draw, chart } of [...page.drawn.values()]) { draw(); chart.resize(); } });
  addEventListener("afterprint", () => apply(box.querySelector(":checked").value));
})();
