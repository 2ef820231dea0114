// Two releases side by side, cell by cell.
const releases = {
  show(where) {
    const make = page.make, worlds = [...new Set(model.versions.map(model.world))].sort();
    const left = where.left ?? worlds[0], right = where.right ?? worlds[1] ?? worlds[0];
    const select = (name, value) => make("label", {}, name === "left" ? "This" : "Beside", make("select", { id: `release-${name}`, onchange: (event) => { location.hash = address.of(["releases"], { left, right, [name]: event.target.value }); } },
      worlds.map((world) => make("option", { value: world, selected: world === value }, world))));
    const rows = model.versions.filter((row) => model.world(row) === left).map((one) => ({ one, two: model.versions.find((row) => model.world(row) === right && row.mode === one.mode && row.flush === one.flush && row.fault === one.fault) }));
    const both = rows.filter((row) => row.two), pair = (title, figure, say, worse = 1) => ({ title, text: ({ one, two }) => `${say(one[figure])} / ${say(two[figure])}`, value: ({ one, two }) => worse * ((two[figure] ?? 0) - (one[figure] ?? 0)), numeric: true });
    return [
      make("h1", {}, "Two releases side by side"), make("div", { class: "filters" }, select("left", left), select("right", right)),
      make("p", {}, `${both.length} cells were run with both. Figures: ${left} / ${right}. Sorting is by the difference. mqchaos compare pairs runs by plan and seed and judges each difference.`),
      both.length ? page.table("Figures of both releases", [
        { title: "cell", text: ({ one }) => cellName(one), node: ({ one }) => make("a", { href: address.cell(one) }, cellName(one)) },
        { title: "runs", text: ({ one, two }) => `${page.number(one.runs)} / ${page.number(two.runs)}`, value: ({ one }) => one.runs, numeric: true },
        pair("failed", "failed", (value) => page.number(value)), pair("lost of 10,000", "lost_per_10000", (value) => page.number(value, 1)), pair("sends that succeeded", "ok_share", page.percent, -1),
        pair("RTO median", "recovery_p50_ms", page.ms), pair("RTO 90 %", "recovery_p90_ms", page.ms), pair("send 99 %, steady", "steady_p99_ms", page.ms),
      ], both) : make("p", {}, "No cell was run with both."),
    ];
  },
};
