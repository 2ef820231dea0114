// From the address to a view; the heading gets the focus, so that a keyboard and a screen reader are where the eye is.
(async function main() {
  await model.load();
  let before = null;
  async function show() {
    const { path, where } = address.parse(), asked = location.hash, view = document.getElementById("view"), kind = path[0] || "";
    const steps = [["Matrix", address.of([""])]];
    let parts;
    await model.need(where, kind === "run" ? path[1] : "");
    if (asked !== location.hash) return;
    if (kind === "cell") { parts = cellView.show(where); steps.push([`${where.mode} / ${where.flush} × ${where.fault}`, null]); }
    else if (kind === "run") {
      const run = model.runs.get(path[1]);
      if (run) steps.push([`${run.mode} / ${run.flush} × ${run.fault}`, address.cell(run, { world: model.world(run), bugs: run.defects ? "planted" : "" })]);
      steps.push([path[1], path[2] ? address.of(["run", path[1]]) : null]);
      if (path[2] === "message") steps.push([`m${path[3]}`, null]);
      parts = path[2] === "message" ? runView.message(path[1], path[3]) : runView.show(path[1]);
    } else if (kind === "releases") { parts = releases.show(where); steps.push(["Releases", null]); }
    else parts = overview.show(where);
    for (const { chart } of page.drawn.values()) chart.dispose();
    page.drawn.clear();
    view.replaceChildren(...parts.filter(Boolean));
    document.getElementById("path").replaceChildren(...steps.flatMap(([words, href], index) => [index ? " › " : "", href && index < steps.length - 1 ? page.make("a", { href }, words) : words]));
    const heading = view.querySelector("h1");
    document.title = `${heading.textContent} · mqchaos`;
    if (before !== null && before !== location.hash.split("?")[0]) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); scrollTo(0, 0); }
    before = location.hash.split("?")[0];
    if (!kind && where.at) overview.goTo(where.at);
    document.documentElement.dataset.ready = location.hash || "#/";
  }
  addEventListener("hashchange", show);
  await show();
})();
